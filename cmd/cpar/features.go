package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cpar/user/feature"
	"cpar/user/picture"
)

func featuresCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "features FILE…",
		Short: "print the seven raw feature vectors of photos",
		Long: `features prints what cpar computes of a photo before anything is encrypted:
rgb, hsv, lab (48 each), gabor, gaborq (256 each), haar, haarq (4096 each), before
PCA and normalisation. Nothing leaves this machine.

With --json it prints one object keyed by the file names as given.`,
		Example: `  $ cpar features beach.jpg --json | jq '.["beach.jpg"].rgb'`,
		Args:    someArgs("a photo"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := map[string]*feature.Vectors{}
			extractor := feature.NewExtractor()
			for _, path := range args {
				data, err := picture.ReadFile(path)
				if err != nil {
					return err
				}
				if out[path], err = extractor.Photo(data, feature.Options{}); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			return output(cmd, asJSON, out, func() {
				for _, path := range args {
					fmt.Fprintln(cmd.OutOrStdout(), path)
					for _, b := range feature.Blocks() {
						fmt.Fprintf(cmd.OutOrStdout(), "  %-7s %4d values, starting %.4g\n", b.Name, b.Len, b.Of(out[path])[:4])
					}
				}
			})
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

var errPartly = errors.New("some photos failed")

// partly makes an error of the photos that failed, keeping the first one's
// kind for the exit code.
func partly(failed int, all int, first error) error {
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d; the first: %w", errPartly, failed, all, first)
}

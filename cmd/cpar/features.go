package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cpar/user/feature"
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
			for _, path := range args {
				v, err := feature.FromFile(path)
				if err != nil {
					return err
				}
				out[path] = v
			}
			return output(cmd, asJSON, out, func() {
				for _, path := range args {
					fmt.Fprintln(cmd.OutOrStdout(), path)
					v := out[path]
					for _, part := range []struct {
						name   string
						values []float32
					}{
						{"rgb", v.RGB}, {"hsv", v.HSV}, {"lab", v.Lab}, {"gabor", v.Gabor},
						{"gaborq", v.GaborQ}, {"haar", v.Haar}, {"haarq", v.HaarQ},
					} {
						fmt.Fprintf(cmd.OutOrStdout(), "  %-7s %4d values, starting %.4g\n", part.name, len(part.values), part.values[:4])
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

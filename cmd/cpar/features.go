package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar/internal/sanitize"
	"cpar/model/feature"
	"cpar/photo/decode"
)

func featuresCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "features FILE…",
		Short: "print the raw feature vectors of photos",
		Long: `features prints the features of a photo before any encryption: rgb, hsv, lab (48 each),
gabor, gaborq (256 each), haar, haarq (4096 each), before PCA and normalisation, and
patches (1600), which profile learned uses too. Nothing leaves this machine.

With --json it prints one object keyed by the file names as given.`,
		Example: `  $ cpar features beach.jpg --json | jq '.["beach.jpg"].rgb'`,
		Args:    someArgs("a photo"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := map[string]*feature.Vectors{}
			extractor := feature.NewExtractor()
			for _, path := range args {
				data, err := decode.ReadFile(path)
				if err != nil {
					return fmt.Errorf("%s: %w", sanitize.Text(path), err)
				}
				if out[path], err = extractor.Photo(data, feature.Options{}); err != nil {
					return fmt.Errorf("%s: %w", sanitize.Text(path), err)
				}
			}
			return output(cmd, asJSON, out, func() {
				for _, path := range args {
					fmt.Fprintln(cmd.OutOrStdout(), sanitize.Text(path))
					for _, b := range feature.Blocks() {
						fmt.Fprintf(cmd.OutOrStdout(), "  %-7s %4d values, starting %.4g\n", b.Name, b.Len, b.Of(out[path])[:4])
					}
				}
			})
		},
	}
	return jsonFlag(c, &asJSON)
}

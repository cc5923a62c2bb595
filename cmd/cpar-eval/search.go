package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar/eval/load"
	"cpar/eval/measure"
)

func searchCommand() *cobra.Command {
	var f flags
	o := load.SearchOptions{}
	c := &cobra.Command{
		Use:   "search",
		Short: "measure the search for words through a real cpard",
		Long: `search indexes the training photos with their keywords, adds the test photos without keywords, pushes
the index to a cpard on loopback, and searches for each word of the test photos as cpar search does. It
prints the mean average precision over the test photos and words, and the share of right photos among
those that cpar search shows by default. A draw is a random order of the collection and a key.`,
		Example: `  $ cpar-eval search --data corel5k --json
  $ cpar-eval search --data corel5k --draws 1 --photos 1000
  $ cpar-eval search --data corel5k --draws 1 --records 100000 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.plan(cmd)
			if err != nil {
				return err
			}
			defer p.Lab.Close()
			o.Lab, o.Draws = p.Lab, p.Draws
			o.Done = func(d load.SearchDraw) {
				fmt.Fprintf(cmd.ErrOrStderr(), "draw %d: mAP %.3f, P@5 %.3f; a query: %d bytes sent, %d received, %.1f ms of cpard\n", d.Draw, d.MAP, d.PAt5, d.Sent, d.Received, d.ServerMS)
			}
			result, err := load.MeasureSearch(cmd.Context(), o)
			switch {
			case err != nil:
				return err
			case f.asJSON:
				return printJSON(cmd.OutOrStdout(), result)
			}
			return measure.PrintTables(cmd.OutOrStdout(), result.Tables())
		},
	}
	f.add(c, "", measure.NeedsModel|measure.NeedsDraws)
	for _, name := range []string{"out", "any-build", "draw"} { // no step is kept, and every draw is measured
		_ = c.Flags().MarkHidden(name)
	}
	c.Flags().StringVar(&o.Cpard, "cpard", "", "the program to ask, a `file`; without it the go command builds it")
	c.Flags().IntVar(&o.Records, "records", 0, "number of records with keywords, mixed from the photos' features beyond their number, to measure bytes and the server's time")
	c.Flags().IntVar(&o.Photos, "photos", 0, "maximum number of indexed photos with keywords, 0 for all")
	return c
}

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cpar/eval/measure"
)

// measureCommand returns the command that measures m and prints its tables. If m
// has views, each has a command, which prints only the table of view v. With
// --json it prints the whole result.
func measureCommand(m measure.Measurement, v measure.View) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   v.Name,
		Short: v.Short,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.plan(cmd)
			if err != nil {
				return err
			}
			defer p.Lab.Close()
			result, err := p.Measure(cmd.Context(), m.Name)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if f.asJSON {
				return printJSON(w, result)
			}
			return measure.PrintTables(w, slices.DeleteFunc(result.Tables(), func(t measure.Table) bool {
				return len(m.Views) > 0 && t.Name != v.Name
			}))
		},
	}
	f.add(c, "", m.Needs)
	if m.Needs&measure.NeedsSize != 0 {
		c.Example = fmt.Sprintf("  $ cpar-eval %s --data corel5k --n 20000 --json", v.Name)
	}
	return c
}

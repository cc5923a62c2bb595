package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cpar/eval/measure"
	"cpar/eval/report"
)

// measureCommands returns one subcommand for each measurement. A measurement
// with views has one for each view instead, which prints one table. Custom
// measurements have a file of their own.
func measureCommands() []*cobra.Command {
	var out []*cobra.Command
	for _, m := range report.Measurements() {
		if m.Custom {
			continue
		}
		for _, v := range m.Commands() {
			out = append(out, measureCommand(m, v))
		}
	}
	return out
}

// measureCommand returns the command that measures m and prints its tables, or
// only the table of view v. With --json it prints the whole result.
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

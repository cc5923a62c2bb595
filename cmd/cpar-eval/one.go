package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cpar/eval"
)

// oneCommands returns the subcommands that measure one thing.
func measureCommands() []*cobra.Command {
	var out []*cobra.Command
	for _, m := range eval.Measurements() {
		for _, v := range m.Commands() {
			out = append(out, measureCommand(m, v))
		}
	}
	return out
}

// one measures m and prints its tables, or that of a view; JSON always has the whole result.
func measureCommand(m eval.Measurement, v eval.View) *cobra.Command {
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
			return eval.PrintTables(w, slices.DeleteFunc(result.Tables(), func(t eval.Table) bool {
				return len(m.Views) > 0 && t.Name != v.Name
			}))
		},
	}
	f.add(c, "")
	if m.Needs&eval.NeedsSize != 0 {
		f.addSize(c)
		c.Example = fmt.Sprintf("  $ cpar-eval %s --data corel5k --n 20000 --json", v.Name)
	}
	if m.Needs&eval.NeedsLiteralN != 0 {
		f.addLiteralN(c, "n")
	}
	if m.Needs&eval.NeedsModel != 0 {
		f.addModel(c)
	}
	if m.Needs&eval.NeedsDraws != 0 {
		f.addDraws(c)
	}
	if m.Needs&eval.NeedsMaxN != 0 {
		f.addMaxN(c)
	}
	return c
}

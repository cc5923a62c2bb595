package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"cpar/eval/measure"
	"cpar/eval/report"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

// summary is the output of flag --json.
type summary struct {
	Machine string            `json:"machine"`
	Steps   []stepLine        `json:"steps"`
	Failed  []measure.Failure `json:"failed"`
	Files   []string          `json:"files"`
}

type stepLine struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Reused  bool    `json:"reused"`
}

func allCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "all",
		Short: "measure everything and write a report",
		Long: `all measures everything and writes, into --out, one CSV file per result, plots
as SVG and PNG, and machine.txt, which describes the machine.

Finished steps are kept in --out. A second run measures only steps that are missing
or that another build of this program, another machine or other images produced.
Interrupting a run loses only the step in progress. With --any-build, steps of
other builds and machines are kept too, for example to draw plots again.

--publish FOLDER also writes the tables and plots there, to be committed or
published, and --docs FILE writes a page of Markdown that links to them.`,
		Example: `  $ cpar-eval all --data corel5k --out results/`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.out == "" {
				return errNoOut
			}
			p, err := f.plan(cmd)
			if err != nil {
				return err
			}
			defer p.Lab.Close()
			p.Done = stepReporter(cmd.ErrOrStderr())
			results, failed := p.All(cmd.Context())
			if cmd.Context().Err() != nil {
				return hint.Add(exitcode.ErrInterrupted, "finished steps are kept in %s: run the same command to continue", f.out)
			}
			if err := writeReport(cmd, &f, results); err != nil {
				return err
			}
			if failed != nil {
				return fmt.Errorf("%w: %d of them; the rest is in %s: %w", errPartly, len(results.Failed), f.out, failed)
			}
			return nil
		},
	}
	f.add(c, "results", ^measure.Needs(0))
	c.Flags().StringVar(&f.publish, "publish", "", "also write the tables and plots to this `folder`")
	c.Flags().StringVar(&f.docs, "docs", "", "also write the page of results to this `file`, like the command results")
	return c
}

func resultsCommand() *cobra.Command {
	var from, out string
	c := &cobra.Command{
		Use:   "results",
		Short: "write the page of results (Markdown) from a folder of tables",
		Long: `results writes a page of Markdown from the CSV files that all writes, such
as the published ones. It needs neither the collection nor the kept results of a run.`,
		Example: "  $ cpar-eval results --from eval/results --out docs/results.md",
		Args:    func(c *cobra.Command, args []string) error { return exitcode.UsageError(cobra.NoArgs(c, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := report.WriteResults(from, out); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", out)
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", filepath.Join("eval", "results"), "`folder` of the tables and plots")
	c.Flags().StringVar(&out, "out", filepath.Join("docs", "results.md"), "`file` to write")
	return c
}

func writeReport(cmd *cobra.Command, f *flags, r *measure.Results) error {
	files, err := report.Write(f.out, r)
	if err != nil {
		return err
	}
	folder := f.out
	if f.publish != "" {
		folder = f.publish
		if _, err := report.Write(folder, r); err != nil {
			return err
		}
	}
	if f.docs != "" {
		if err := report.WriteResults(folder, f.docs); err != nil {
			return err
		}
	}
	w := cmd.OutOrStdout()
	if !f.asJSON {
		fmt.Fprintf(w, "%d files in %s\n", len(files), f.out)
		return nil
	}
	s := summary{Machine: r.Machine, Failed: r.Failed, Files: files, Steps: []stepLine{}}
	for _, x := range r.Steps {
		s.Steps = append(s.Steps, stepLine{x.Name, x.Seconds, x.Reused})
	}
	if s.Failed == nil {
		s.Failed = []measure.Failure{}
	}
	return printJSON(w, s)
}

package main

import (
	"fmt"
	"io"
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

// A runPlan lists the measurements of a run in order, with the expected times on
// two idle cores.
type runPlan struct {
	Steps   []measure.Measurement `json:"steps"`
	Minutes float64               `json:"minutes"`
}

func (p runPlan) print(w io.Writer) {
	for _, m := range append(p.Steps, measure.Measurement{Name: "together", Minutes: p.Minutes}) {
		fmt.Fprintf(w, "%-14s %5.3g minutes\n", m.Name, m.Minutes)
	}
}

// A run has fewer draws and a smaller largest index than the single commands,
// which would otherwise take most of its time.
const allDraws, allMaxN = 3, 40_000

func allCommand() *cobra.Command {
	f := flags{draws: allDraws, maxN: allMaxN}
	var dryRun bool
	c := &cobra.Command{
		Use:   "all",
		Short: "measure everything and write a report",
		Long: `all measures everything and writes, into --out, one CSV file per result, plots as SVG,
and steps.csv with the time, commit and machine of each step.
It first prints the measurements with their expected times on two idle cores. --dry-run stops there.

Finished steps are kept in --out. A second run measures only steps that are missing or that another
build of this program, another commit, another machine or other images produced. Interrupting a run
loses only the step in progress. With --any-build, steps of other builds and machines are kept too,
for example to draw plots again.

--publish FOLDER also writes the tables and plots there, to be committed or published, and --docs FILE
writes a page of Markdown that links to them. Both refuse steps of several commits or machines.

The commands of the single measurements measure more: draws and search with nine draws, scaling up
to 80,000 images, load with rows of 20 seconds.`,
		Example: `  $ cpar-eval all --data corel5k --out results/
  $ cpar-eval all --data corel5k --out results/ --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.out == "" {
				return errNoOut
			}
			p, err := f.plan(cmd)
			if err != nil {
				return err
			}
			defer p.Lab.Close()
			plan := runPlan{p.Ordered(), report.ExpectedMinutes()}
			switch {
			case dryRun && f.asJSON:
				return printJSON(cmd.OutOrStdout(), plan)
			case dryRun:
				plan.print(cmd.OutOrStdout())
				return nil
			}
			plan.print(cmd.ErrOrStderr())
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
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and measure nothing")
	c.Flags().StringVar(&f.publish, "publish", "", "also write the tables and plots to this `folder`")
	c.Flags().StringVar(&f.docs, "docs", "", "also write the page of results to this `file`, like the command results")
	return c
}

func resultsCommand() *cobra.Command {
	var from, out string
	var fill []string
	c := &cobra.Command{
		Use:   "results",
		Short: "write the page of results (Markdown) from a folder of tables",
		Long: `results writes a page of Markdown from the CSV files that all writes, such
as the published ones. It needs neither the collection nor the kept results of a run. It refuses steps of
several commits or machines. --fill also writes figures between the markers of other pages.`,
		Example: "  $ cpar-eval results --from eval/results --out docs/results.md --fill README.md,docs/research.md",
		Args:    func(c *cobra.Command, args []string) error { return exitcode.UsageError(cobra.NoArgs(c, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := report.WriteResults(from, out, fill...); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n", out)
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", filepath.Join("eval", "results"), "`folder` of the tables and plots")
	c.Flags().StringVar(&out, "out", filepath.Join("docs", "results.md"), "`file` to write")
	c.Flags().StringSliceVar(&fill, "fill", nil, "also replace the figures between markers in these Markdown `files`")
	return c
}

func writeReport(cmd *cobra.Command, f *flags, r *measure.Results) error {
	files, err := report.Write(f.out, r)
	if err != nil {
		return err
	}
	folder := f.out
	if f.publish != "" || f.docs != "" {
		if err := report.CheckOrigin(r.Steps); err != nil {
			return err
		}
	}
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
	s := summary{Machine: measure.Machine(), Failed: r.Failed, Files: files, Steps: []stepLine{}}
	for _, x := range r.Steps {
		s.Steps = append(s.Steps, stepLine{x.Name, x.Seconds, x.Reused})
	}
	if s.Failed == nil {
		s.Failed = []measure.Failure{}
	}
	return printJSON(w, s)
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar/eval"
	"cpar/eval/report"
	"cpar/eval/step"
	"cpar/internal/hint"
)

// summary is what all and report print as JSON.
type summary struct {
	Machine string         `json:"machine"`
	Steps   []stepLine     `json:"steps"`
	Failed  []eval.Failure `json:"failed"`
	Files   []string       `json:"files"`
}

type stepLine struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Reused  bool    `json:"reused"`
}

func allCommand() *cobra.Command {
	var f flags
	var publish string
	c := &cobra.Command{
		Use:   "all",
		Short: "measure everything and write a report",
		Long: `all measures everything and writes, into --out, one CSV file per result, plots
as SVG and PNG, report.html (open it in a browser; it loads nothing from
elsewhere) and machine.txt, which says what was measured on.

What is done is kept in --out; a second run measures only what is missing, or
what was measured by another build of this program, on another machine or of
other images. Interrupting it loses the step under way.

report.html shows photographs of the collection. --publish FOLDER copies
everything else there, to be committed or given away.`,
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
			p.Done = lines(cmd.ErrOrStderr())
			results, failed := p.All(cmd.Context())
			if cmd.Context().Err() != nil {
				return hint.Add(errInterrupted, "what is done is kept in %s: run the same command to go on", f.out)
			}
			if err := write(cmd, &f, results, publish); err != nil {
				return err
			}
			if failed != nil {
				return fmt.Errorf("%w: %d of them; the rest is in %s: %w", errPartly, len(results.Failed), f.out, failed)
			}
			return nil
		},
	}
	f.add(c, "results")
	f.addSize(c)
	f.addMost(c)
	f.addModel(c)
	c.Flags().StringVar(&publish, "publish", "", "copy what shows no photograph to this `folder` too")
	return c
}

func reportCommand() *cobra.Command {
	var f flags
	var publish string
	c := &cobra.Command{
		Use:   "report",
		Short: "write the report of kept results again, measuring nothing",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.out == "" {
				return errNoOut
			}
			return write(cmd, &f, eval.Kept(&step.Runner{Dir: f.out}), publish)
		},
	}
	f.add(c, "results")
	c.Flags().StringVar(&publish, "publish", "", "copy what shows no photograph to this `folder` too")
	return c
}

// write writes the report and prints what it wrote.
func write(cmd *cobra.Command, f *flags, r *eval.Results, publish string) error {
	files, err := report.Write(f.out, f.data, r)
	if err != nil {
		return err
	}
	if publish != "" {
		if err := report.Publish(f.out, publish, files); err != nil {
			return err
		}
	}
	w := cmd.OutOrStdout()
	if !f.asJSON {
		fmt.Fprintf(w, "%d files in %s; open %s\n", len(files), f.out, report.PageName)
		return nil
	}
	s := summary{Machine: r.Machine, Failed: r.Failed, Files: files, Steps: []stepLine{}}
	for _, x := range r.Steps {
		s.Steps = append(s.Steps, stepLine{x.Name, x.Seconds, x.Reused})
	}
	if s.Failed == nil {
		s.Failed = []eval.Failure{}
	}
	return printJSON(w, s)
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	networkflags "cpar/cmd/internal/encoderflags"
	"cpar/encoder/bundled"
	"cpar/eval/checkpoint"
	"cpar/eval/cost"
	"cpar/eval/measure"
	"cpar/eval/quality"
	"cpar/eval/report"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
)

// maxDraws bounds the number of draws (random orders of the collection),
// because each takes a minute to measure.
const maxDraws = 1000

type flags struct {
	data, cache, out  string
	publish, docs     string
	n, maxN, literalN int
	draw, draws       int
	asJSON, anyBuild  bool
	model             string
	network           networkflags.Flags
}

func (f *flags) add(c *cobra.Command, out string, needs measure.Needs) {
	c.Flags().StringVar(&f.data, "data", "", "`folder` of the collection (required)")
	c.Flags().StringVar(&f.cache, "cache", filepath.Join("results", "features"), "`folder` that keeps features between runs; empty for none")
	c.Flags().StringVar(&f.out, "out", out, "`folder` that keeps results between runs; empty for none")
	c.Flags().IntVar(&f.draw, "draw", quality.DefaultDraw, "`number` of the random order in which the collection is indexed; 0 is its own order")
	c.Flags().BoolVar(&f.anyBuild, "any-build", false, "also accept kept results of another build of this program or another machine")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON instead of text")
	c.Args = func(c *cobra.Command, args []string) error { return exitcode.UsageError(cobra.NoArgs(c, args)) }
	if needs&measure.NeedsSize != 0 {
		c.Flags().IntVar(&f.n, "n", measure.DefaultN, "images in the index for measuring cost")
	}
	if needs&measure.NeedsLiteralN != 0 { // its literal index (package letter) is slow
		name := "n"
		if needs&measure.NeedsSize != 0 {
			name = "few"
		}
		c.Flags().IntVar(&f.literalN, name, cost.DefaultLiteralN, "images in the literal index")
	}
	if needs&measure.NeedsMaxN != 0 {
		c.Flags().IntVar(&f.maxN, "most", cmp.Or(f.maxN, measure.DefaultMaxN), "images in the largest index of scaling")
	}
	if needs&measure.NeedsDraws != 0 {
		c.Flags().IntVar(&f.draws, "draws", cmp.Or(f.draws, quality.DefaultDraws), "`number` of draws of key and order for means and ranges of quality")
	}
	if needs&measure.NeedsModel != 0 {
		c.Flags().StringVar(&f.model, "model", bundled.Name, "`file` of an image network (ONNX) for profile network; \"none\" skips that profile")
		f.network.Add(c.Flags())
	}
}

// plan returns the plan of a run. The caller must close the plan's lab.
func (f *flags) plan(cmd *cobra.Command) (*measure.Plan, error) {
	if f.data == "" {
		return nil, hint.Add(exitcode.UsageError(errors.New("no collection was named")), "pass --data FOLDER")
	}
	for _, size := range []struct {
		flag string
		n    int
	}{{"--n", f.n}, {"--most", f.maxN}, {"the literal index", f.literalN}} {
		if size.n < 0 || size.n > cpar.MaxRecords {
			return nil, fmt.Errorf("%w: %s %d; 0 to %d are possible", cpar.ErrInput, size.flag, size.n, cpar.MaxRecords)
		}
	}
	if f.draw < 0 {
		return nil, fmt.Errorf("%w: --draw %d; it must be at least 0", cpar.ErrInput, f.draw)
	}
	if c := cmd.Flags().Lookup("draws"); c != nil && (f.draws < 1 || f.draws > maxDraws) {
		return nil, fmt.Errorf("%w: --draws %d; 1 to %d are possible", cpar.ErrInput, f.draws, maxDraws)
	}
	if err := f.network.Check(); err != nil {
		return nil, err
	}
	origin, err := measure.ThisOrigin()
	if err != nil {
		return nil, err
	}
	if f.model == "none" {
		f.model = ""
	}
	lab := &measure.Lab{Data: f.data, Cache: f.cache, Progress: bar.On(cmd.ErrOrStderr()),
		Model: f.model, ModelOptions: f.network.Options(), Draw: f.draw}
	if _, err := lab.Network(); err != nil { // report an unusable network before reading photos
		return nil, err
	}
	return &measure.Plan{
		Measurements: report.Measurements(),
		Lab:          lab,
		Runner:       &checkpoint.Runner{Dir: f.out, Origin: origin, AnyOrigin: f.anyBuild},
		N:            f.n, MaxN: f.maxN, LiteralN: f.literalN, Draws: f.draws,
	}, nil
}

func stepReporter(w io.Writer) func(checkpoint.Record, error) {
	return func(r checkpoint.Record, err error) {
		took := time.Duration(r.Seconds * float64(time.Second)).Round(100 * time.Millisecond)
		switch {
		case errors.Is(err, context.Canceled):
			fmt.Fprintf(w, "%-14s interrupted\n", r.Name)
		case err != nil:
			fmt.Fprintf(w, "%-14s failed: %v\n", r.Name, err)
		case r.Reused:
			fmt.Fprintf(w, "%-14s done before, in %v\n", r.Name, took)
		default:
			fmt.Fprintf(w, "%-14s %v\n", r.Name, took)
		}
	}
}

// resultCommand completes a command that prints one result, as text or as JSON.
// Function `run` may return both a partial result and an error.
func resultCommand[R interface {
	measure.Result
	comparable
}](c *cobra.Command, run func(cmd *cobra.Command, asJSON bool) (R, error)) *cobra.Command {
	var none R
	var asJSON bool
	c.Args = func(c *cobra.Command, args []string) error { return exitcode.UsageError(cobra.NoArgs(c, args)) }
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch result, err := run(cmd, asJSON); {
		case result == none:
			return err
		case asJSON:
			return errors.Join(printJSON(cmd.OutOrStdout(), result), err)
		default:
			return errors.Join(measure.PrintTables(cmd.OutOrStdout(), result.Tables()), err)
		}
	}
	return c
}

func printJSON(w io.Writer, x any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(x)
}

var (
	errPartly = errors.New("some steps failed")
	errNoPair = errors.New("a real pair needs a collection and both halves of a network")
	errNoOut  = hint.Add(exitcode.UsageError(errors.New("no folder for results was named")), "pass --out FOLDER")
)

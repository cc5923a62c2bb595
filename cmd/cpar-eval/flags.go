package main

import (
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

// maxDraws bounds the number of draws, each of which takes a minute.
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

func (f *flags) add(c *cobra.Command, out string) {
	c.Flags().StringVar(&f.data, "data", "", "`folder` of the collection (required)")
	c.Flags().StringVar(&f.cache, "cache", filepath.Join("results", "features"), "`folder` that keeps features between runs; empty for none")
	c.Flags().StringVar(&f.out, "out", out, "`folder` that keeps results between runs; empty for none")
	c.Flags().IntVar(&f.draw, "draw", quality.DefaultDraw, "`number` of the random order in which the collection is indexed; 0 is its own order")
	c.Flags().BoolVar(&f.anyBuild, "any-build", false, "also accept kept results of another build of this program or another machine")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON instead of text")
	c.Args = func(c *cobra.Command, args []string) error { return exitcode.UsageError(cobra.NoArgs(c, args)) }
}

// addSize adds flags for measurements on enlarged collections.
func (f *flags) addSize(c *cobra.Command) {
	c.Flags().IntVar(&f.n, "n", measure.DefaultN, "images in the index for measuring cost")
}

// addLiteralN adds flags for the literal index, which is slow.
func (f *flags) addLiteralN(c *cobra.Command, name string) {
	c.Flags().IntVar(&f.literalN, name, cost.DefaultLiteralN, "images in the literal index")
}

func (f *flags) addMaxN(c *cobra.Command) {
	c.Flags().IntVar(&f.maxN, "most", measure.DefaultMaxN, "images in the largest index of scaling")
}

func (f *flags) addDraws(c *cobra.Command) {
	c.Flags().IntVar(&f.draws, "draws", quality.DefaultDraws, "`number` of draws of key and order behind means and ranges of quality")
}

// addShow adds flags for commands that write a report.
func (f *flags) addShow(c *cobra.Command) {
	c.Flags().StringVar(&f.publish, "publish", "", "also write the tables and plots to this `folder`")
	c.Flags().StringVar(&f.docs, "docs", "", "also write the page of results to this `file`, like the command results")
}

// addModel adds flags for measurements of profile network.
func (f *flags) addModel(c *cobra.Command) {
	c.Flags().StringVar(&f.model, "model", bundled.Name, "`file` of an image network (ONNX) for profile network; \"none\" skips that profile")
	f.network.Add(c.Flags())
}

// plan returns the plan of a run. The caller closes its lab.
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
		return nil, fmt.Errorf("%w: --draw %d; 0 is the least", cpar.ErrInput, f.draw)
	}
	if c := cmd.Flags().Lookup("draws"); c != nil && (f.draws < 1 || f.draws > maxDraws) {
		return nil, fmt.Errorf("%w: --draws %d; 1 to %d are possible", cpar.ErrInput, f.draws, maxDraws)
	}
	if err := f.network.Check(); err != nil {
		return nil, err
	}
	identity, err := measure.Identity()
	if err != nil {
		return nil, err
	}
	if f.model == "none" {
		f.model = ""
	}
	lab := &measure.Lab{Data: f.data, Cache: f.cache, Progress: bar.On(cmd.ErrOrStderr()),
		Model: f.model, ModelOptions: f.network.Options(), Draw: f.draw}
	if _, err := lab.Network(); err != nil { // fail early
		return nil, err
	}
	return &measure.Plan{
		Measurements: report.Measurements(),
		Lab:          lab,
		Runner:       &checkpoint.Runner{Dir: f.out, Identity: identity, AnyIdentity: f.anyBuild},
		N:            f.n, MaxN: f.maxN, LiteralN: f.literalN, Draws: f.draws,
	}, nil
}

// stepReporter reports every step on w.
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

func printJSON(w io.Writer, x any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(x)
}

var (
	errPartly = errors.New("some steps failed")
	errNoOut  = hint.Add(exitcode.UsageError(errors.New("no folder for results was named")), "pass --out FOLDER")
)

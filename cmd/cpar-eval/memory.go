package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/eval/memory"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
)

func memoryCommand() *cobra.Command {
	o := memory.Options{Sizes: memory.DefaultSizes}
	c := resultCommand(&cobra.Command{
		Use:   "memory",
		Short: "measure the peak memory and time of cpar and cpard",
		Long: `memory runs cpar build, add and annotate, and cpard, each as a separate process under a
memory limit, and prints the peak memory (mapped files included) and the time of each.
Photos beyond the collection's are mixed from its features. Features are computed
before, so the times include only reading them, except where photos are decoded or
annotated. With the default sizes, the command needs 8 GB of disk and about 15 minutes.

Limits are Linux control groups, which usually only root can make. A process that exceeds
its limit ends, and memory fails.`,
		Example: `  $ cpar-eval memory --data corel5k --json
  $ cpar-eval memory --data corel5k --decoded 0 --photos 1000 --paper 0 --large 0`,
	}, func(cmd *cobra.Command, _ bool) (_ *memory.Result, err error) {
		if o.Data == "" {
			return nil, hint.Add(exitcode.UsageError(errors.New("no collection was named")), "pass --data FOLDER")
		}
		if min(o.Decoded, o.Photos, o.Paper, o.Large, o.Grown) < 0 || min(o.LimitMB, o.ServerLimitMB) < 1 {
			return nil, fmt.Errorf("%w: a number of photos or a limit is negative", cpar.ErrInput)
		}
		if o.Work, err = os.MkdirTemp(o.Work, "cpar-eval-memory-"); err != nil {
			return nil, fmt.Errorf("making a folder: %w: %w", cpar.ErrStorage, err)
		}
		defer os.RemoveAll(o.Work)
		o.Done = func(r memory.Row) { fmt.Fprintf(cmd.ErrOrStderr(), "%+v\n", r) }
		o.Progress = bar.On(cmd.ErrOrStderr())
		return memory.Measure(cmd.Context(), o)
	})
	c.Flags().StringVar(&o.Data, "data", "", "`folder` of the collection (required)")
	c.Flags().StringVar(&o.Cache, "cache", filepath.Join("results", "features"), "`folder` that keeps features between runs")
	c.Flags().StringVar(&o.Cpar, "cpar", "", "the cpar to measure, a `file`; without it the go command builds it")
	c.Flags().StringVar(&o.Cpard, "cpard", "", "the cpard to measure, a `file`; without it the go command builds it")
	c.Flags().StringVar(&o.Work, "work", "", "`folder` for derived photos and indexes, which are removed at the end (default: the system's)")
	for _, size := range []struct {
		n           *int
		name, usage string
	}{
		{&o.Decoded, "decoded", "photos of the two builds that show what decoding adds"},
		{&o.Photos, "photos", "photos of the builds with profiles learned and network"},
		{&o.Paper, "paper", "photos of the build with profile paper"},
		{&o.Large, "large", "photos of the index that is built, updated, searched and served"},
		{&o.Grown, "grown", "photos of the index that is only updated, searched and served"},
	} {
		c.Flags().IntVar(size.n, size.name, *size.n, size.usage+"; 0 for none")
	}
	c.Flags().IntVar(&o.LimitMB, "limit", memory.DefaultLimitMB, "limit of cpar in `MB`")
	c.Flags().IntVar(&o.ServerLimitMB, "server-limit", memory.DefaultServerLimitMB, "limit of cpard in `MB`")
	return c
}

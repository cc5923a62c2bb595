package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"cpar"
	"cpar/eval/checkpoint"
	"cpar/eval/load"
	"cpar/eval/measure"
	"cpar/eval/memory"
	"cpar/eval/quality"
	"cpar/model/profile"
)

// CheckOrigin returns an error unless all steps were measured at one commit on
// one machine.
func CheckOrigin(steps []checkpoint.Record) error {
	for _, s := range steps {
		if first := steps[0]; s.Commit != first.Commit || s.Machine != first.Machine {
			return fmt.Errorf("%w: step %s was measured at commit %s on %s, and step %s at commit %s on %s; measure all steps at one commit on one machine",
				cpar.ErrInput, first.Name, first.Commit, first.Machine, s.Name, s.Commit, s.Machine)
		}
	}
	return nil
}

type steps []checkpoint.Record

func (s steps) Tables() []measure.Table {
	t := measure.Table{Name: stepsName, Title: "Steps of the run", Columns: []string{"step", "seconds", "commit", "machine"}}
	for _, r := range s {
		t.Rows = append(t.Rows, []string{r.Name, measure.FormatDecimal(r.Seconds, 1), r.Commit, r.Machine})
	}
	return []measure.Table{t}
}

// steps returns the steps that measured the tables of a folder, or nil if the
// folder does not record them. Steps of different origins are an error.
func (f *resultFolder) steps() (s steps, err error) {
	rows, err := f.values(stepsName, "step", 3, nil)
	seconds, bad := f.numbers(stepsName, "seconds", nil)
	if err = cmp.Or(err, bad); err != nil {
		return nil, err
	}
	for i, row := range rows {
		s = append(s, checkpoint.Record{Name: row[0], Seconds: seconds[i], Origin: checkpoint.Origin{Commit: row[2], Machine: row[3]}})
	}
	return s, CheckOrigin(s)
}

// record returns the record of a step, or nil if the step was not measured. A
// table of that name without a record is an error.
func (f *resultFolder) record(step string) (*checkpoint.Record, error) {
	all, err := f.steps()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, func(r checkpoint.Record) bool { return r.Name == step }); i >= 0 {
		return &all[i], nil
	}
	if f.have(step) {
		return nil, fmt.Errorf("%w: %s.csv does not record the step that measured %s.csv; write both with cpar-eval all", cpar.ErrInput, stepsName, step)
	}
	return nil, nil
}

func (s steps) Minutes() (sum float64) {
	for _, r := range s {
		sum += r.Seconds / 60
	}
	return math.Ceil(sum)
}

// The following steps have commands with flags of their own. They use the
// defaults of these commands with --json, and fewer draws.

const searchDraws = 3

func measureSearch(ctx context.Context, l *measure.Lab, _ int) (*load.Search, error) {
	return load.MeasureSearch(ctx, load.SearchOptions{Lab: l, Draws: searchDraws, Done: func(load.SearchDraw) {}})
}

func measureLoad(ctx context.Context, l *measure.Lab, _ int) (*load.Load, error) {
	return load.Measure(ctx, load.Options{Data: l.Data, Cache: l.Cache, Photos: load.ShortPhotos, Records: load.DefaultRecords, Schemes: load.DefaultSchemes,
		Clients: load.DefaultClients, Length: load.ShortLength, Done: func(load.Row) {}, Progress: l.Progress})
}

func measureMemory(ctx context.Context, l *measure.Lab, n int) (*memory.Result, error) {
	sizes := memory.DefaultSizes
	if n < measure.DefaultN { // a small run
		sizes = memory.Sizes{Decoded: n, Photos: n, Paper: n, Large: n}
	}
	work, err := os.MkdirTemp("", "cpar-eval-memory-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w: %w", cpar.ErrStorage, err)
	}
	defer os.RemoveAll(work)
	return memory.Measure(ctx, memory.Options{Data: l.Data, Cache: l.Cache, Work: work, Sizes: sizes,
		LimitMB: memory.DefaultLimitMB, ServerLimitMB: memory.DefaultServerLimitMB, Progress: l.Progress})
}

func measureClip(ctx context.Context, l *measure.Lab, _ int) (*quality.Clip, error) {
	return quality.MeasureClip(ctx, quality.MadePair(), profile.ClipDims[:2], l.Progress)
}

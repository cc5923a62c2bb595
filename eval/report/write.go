// Package report presents the results of the evaluation.
//
//	measure.Results ─▶ NAME.csv             one per table
//	                ├▶ plots/NAME.svg .png  our points beside the paper's
//	                └▶ machine.txt          the machine that measured
//	CSV, plots      ─▶ docs/results.md      tables for readers (WriteResults)
//
// It knows every measurement (Measurements), and only cmd/cpar-eval imports it.
package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/eval/cost"
	"cpar/eval/measure"
	"cpar/eval/plot"
	"cpar/eval/quality"
	"cpar/internal/durable"
)

const (
	machineName = "machine.txt"
	plotsName   = "plots"
)

// Write writes the tables and plots of r into folder and returns the names of
// the files. Errors wrap cpar.ErrStorage.
func Write(folder string, r *measure.Results) ([]string, error) {
	w := &writer{folder: folder}
	for _, dir := range []string{folder, filepath.Join(folder, plotsName)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("writing the report: %w: %w", cpar.ErrStorage, err)
		}
	}
	for _, result := range r.Each {
		for _, t := range result.Tables() {
			var buf bytes.Buffer
			if err := t.WriteCSV(&buf); err != nil {
				return nil, err
			}
			w.write(t.Name+".csv", buf.Bytes())
		}
	}
	for _, f := range Figures(r) {
		svg, png, err := f.Draw()
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", f.Name, err)
		}
		w.write(plotsName+"/"+f.Name+".svg", svg)
		w.write(plotsName+"/"+f.Name+".png", png)
	}
	w.write(machineName, []byte(r.Machine+"\n"))
	if w.err != nil {
		return nil, fmt.Errorf("writing the report: %w", w.err)
	}
	return w.files, nil
}

type writer struct {
	folder string
	files  []string
	err    error
}

func (w *writer) write(name string, b []byte) {
	if w.err == nil {
		w.err = durable.WriteFile(filepath.Join(w.folder, filepath.FromSlash(name)), b, 0o644)
		w.files = append(w.files, name)
	}
}

// Figures returns the plots of all results, in the order of a report.
// tradeoff-large comes second, because it combines two results.
func Figures(r *measure.Results) []plot.Figure {
	var out []plot.Figure
	for _, x := range r.Each {
		d, ok := x.(measure.Drawn)
		if !ok {
			continue
		}
		list := d.Figures()
		s, isSweep := x.(*quality.Sweep)
		if c := measure.Of[*cost.Cost](r); isSweep && c != nil {
			speedups := map[string]float64{}
			for _, row := range c.Rows {
				speedups[row.Name] = row.Speedup
			}
			list = slices.Insert(list, 1, s.LargeTradeoff(c.Records, speedups))
		}
		out = append(out, list...)
	}
	return out
}

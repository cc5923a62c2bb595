// Package report presents the results of the evaluation.
//
//	eval.Results ─▶ NAME.csv            one per table
//	             ├▶ plots/NAME.svg .png ours beside the paper's points
//	             ├▶ report.html         everything, in one file that loads nothing
//	             └▶ machine.txt         the machine that measured
//	CSV, plots   ─▶ docs/results.md     figures for readers (WriteResults)
//
// Only report.html shows thumbnails of the collection's photographs, so everything else
// can be published (Publish).
package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/eval"
	"cpar/internal/durable"
)

const (
	// PageName is the name of the report's file.
	PageName    = "report.html"
	machineName = "machine.txt"
	plotsName   = "plots"
)

// Write writes the report of r into folder and returns the names of the files. data is
// the folder of the collection, for thumbnails; "" for none. Errors wrap cpar.ErrStorage.
func Write(folder, data string, r *eval.Results) ([]string, error) {
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
	for _, f := range r.Figures() {
		svg, png, err := f.Draw()
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", f.Name, err)
		}
		w.write(plotsName+"/"+f.Name+".svg", svg)
		w.write(plotsName+"/"+f.Name+".png", png)
	}
	w.write(machineName, []byte(r.Machine+"\n"))
	page, err := Page(r, data)
	if err != nil {
		return nil, err
	}
	w.write(PageName, page)
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

// Publish copies files of a report to another folder, except the page, which shows
// photographs that we may not give away.
func Publish(from, to string, files []string) error {
	for _, name := range slices.DeleteFunc(slices.Clone(files), func(n string) bool { return n == PageName }) {
		b, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("publishing %s: %w: %w", name, cpar.ErrStorage, err)
		}
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("publishing %s: %w: %w", name, cpar.ErrStorage, err)
		}
		if err := durable.WriteFile(path, b, 0o644); err != nil {
			return fmt.Errorf("publishing %s: %w", name, err)
		}
	}
	return nil
}

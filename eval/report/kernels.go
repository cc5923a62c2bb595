package report

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"cpar/eval/measure"
	"cpar/internal/kernelbench"
)

// instructionsSource lists how many instructions each call of kernelbench.Calls
// executes on arm64. TestInstructions of kernelbench prints the lines.
//
//go:embed instructions.tsv
var instructionsSource string

type Kernels struct {
	Rows []kernelbench.Row `json:"rows"`
}

// kernelTime is the time for one row. Tests shorten it.
var kernelTime = 200 * time.Millisecond

func measureKernels(ctx context.Context, _ *measure.Lab, _ int) (*Kernels, error) {
	k := new(Kernels)
	return k, kernelbench.Run(ctx, kernelTime, func(row kernelbench.Row) { k.Rows = append(k.Rows, row) })
}

// Tables leaves a cell empty if the processor or the package lacks a kernel.
func (k *Kernels) Tables() []measure.Table {
	t := measure.Table{Name: "kernels", Title: "Kernels: time of a call on this processor, and instructions of a call on arm64",
		Columns: []string{"package", "call", "plain Go µs", "AVX2 µs", "AVX-512 µs", "plain Go, instructions", "NEON, instructions"}}
	key := func(x ...string) string { return strings.Join(x, "\t") }
	cells := map[string]string{}
	for _, r := range k.Rows {
		level := strings.TrimSuffix(r.Kernels, " IFMA")
		cells[key(r.Package, r.Call, level+" µs")] = measure.FormatSignificant(r.Ns / 1e3)
	}
	for line := range strings.Lines(instructionsSource) {
		at := strings.LastIndex(line, "\t")
		cells[line[:at]+", instructions"] = thousands(strings.TrimSpace(line[at:]))
	}
	for _, c := range kernelbench.Calls {
		row := []string{c.Package, c.Name}
		for _, column := range t.Columns[2:] {
			row = append(row, cells[key(c.Package, c.Name, column)])
		}
		t.Rows = append(t.Rows, row)
	}
	return []measure.Table{t}
}

// Package report presents the results of the evaluation.
//
//	measure.Results ─▶ NAME.csv        one per table
//	                ├▶ plots/NAME.svg  our points beside the paper's
//	                └▶ steps.csv       duration, commit and machine of each step
//	CSV, plots      ─▶ docs/results.md      tables for readers (WriteResults)
//	                └▶ README.md …          figures between markers (WriteResults)
//
// Function Measurements lists every measurement. Only cmd/cpar-eval imports
// this package.
package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/eval/attack"
	"cpar/eval/cost"
	"cpar/eval/measure"
	"cpar/eval/plot"
	"cpar/eval/quality"
	"cpar/internal/durable"
)

const (
	stepsName = "steps"
	plotsName = "plots"
)

// Write writes the tables and plots of r into `folder` and returns the names of
// the files. It removes those of an earlier run, which may have another origin.
func Write(folder string, r *measure.Results) ([]string, error) {
	if _, err := os.Stat(filepath.Join(folder, stepsName+".csv")); err == nil { // Write wrote this folder
		if err := removeTablesAndPlots(folder); err != nil {
			return nil, fmt.Errorf("writing the report: %w: %w", cpar.ErrStorage, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(folder, plotsName), 0o755); err != nil {
		return nil, fmt.Errorf("writing the report: %w: %w", cpar.ErrStorage, err)
	}
	var files []string
	var failed error
	write := func(name string, b []byte) {
		if failed == nil {
			failed = durable.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), b, 0o644)
			files = append(files, name)
		}
	}
	for _, result := range append(slices.Clone(r.Each), measure.Result(steps(r.Steps))) {
		for _, t := range result.Tables() {
			var buf bytes.Buffer
			if err := t.WriteCSV(&buf); err != nil {
				return nil, err
			}
			write(t.Name+".csv", buf.Bytes())
		}
	}
	for _, f := range Figures(r) {
		svg, err := f.SVG()
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", f.Name, err)
		}
		write(plotsName+"/"+f.Name+".svg", svg)
	}
	if failed != nil {
		return nil, fmt.Errorf("writing the report: %w", failed)
	}
	return files, nil
}

func removeTablesAndPlots(folder string) error {
	tables, _ := filepath.Glob(filepath.Join(folder, "*.csv")) // the only error is that of a bad pattern
	for _, table := range tables {
		if err := os.Remove(table); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(folder, plotsName))
}

func Figures(r *measure.Results) (out []plot.Figure) {
	for _, x := range r.Each {
		if d, ok := x.(measure.Drawn); ok {
			out = append(out, d.Figures()...)
		}
	}
	return out
}

// Measurements returns all measurements, in the order of a report. Each element
// determines the command and steps of its measurement. The Result determines
// tables, figures and stored JSON. A measurement with several steps, or
// computed from others, has its own function Get.
func Measurements() []measure.Measurement {
	return []measure.Measurement{
		{Name: "sweep", Minutes: 2, Needs: measure.NeedsIndex, Get: measure.InSession(quality.MeasureSweep), Views: []measure.View{
			{Name: "speedup", Short: "measure cpar over capia against AP"},
			{Name: "recall", Short: "measure accuracy against AP"},
			{Name: "tradeoff", Short: "measure speedup against accuracy"},
		}},
		{Name: "cost", Minutes: 3, Needs: measure.NeedsSize, Get: measure.OfSize(cost.MeasureCost), Short: "measure cloud time against AP, the build and a request"},
		{Name: "alphagamma", Minutes: 0.3, Get: measure.InCorpus(quality.MeasureAlphaGamma), Short: "measure error and size of the L1 approximation against α and γ"},
		{Name: "pca", Minutes: 1, Get: measure.InCorpus(quality.MeasurePCA), Short: "measure the accuracy lost by PCA"},
		{Name: "sealed", Minutes: 3, Needs: measure.NeedsSize, Get: cost.SealedSteps, Short: "measure quality and cost of schemes sealed and local"},
		{Name: "profiles", Minutes: 5, Needs: measure.NeedsSize | measure.NeedsModel, Get: measure.OfSize(quality.MeasureProfiles), Short: "compare the quality and cost of profiles"},
		{Name: "draws", Minutes: 6, Needs: measure.NeedsModel | measure.NeedsDraws, Get: quality.DrawSteps, Short: "measure quality as mean and range over draws of key and order"},
		{Name: "small", Minutes: 14, Needs: measure.NeedsModel, Get: quality.SmallStep, Short: "measure calibration after few photos"},
		{Name: "profile-growth", Minutes: 1, Needs: measure.NeedsSize, Get: cost.ProfileGrowthStep, Short: "measure scheme sealed with short vectors, up to a million records"},
		{Name: "sealed-size", Minutes: 3, Needs: measure.NeedsSize | measure.NeedsModel, Get: cost.SealedTargetsStep, Short: "measure scheme sealed at the sizes of its documented targets"},
		{Name: "clusters", Minutes: 3, Needs: measure.NeedsModel, Get: measure.InCorpus(quality.MeasureCells), Short: "measure recall when a request searches one hidden cell"},
		{Name: "structures", Minutes: 2, Get: measure.InCorpus(quality.MeasureStructures), Short: "measure recall by structure and search of an index"},
		{Name: "corel5k", Minutes: 0.3, Needs: measure.NeedsIndex, Get: quality.Corel5kStep, Short: "measure annotation quality by the standard protocol"},
		{Name: "samples", Minutes: 0.2, Needs: measure.NeedsIndex, Get: measure.InSession(quality.MeasureSamples), Short: "annotate a few test images"},
		{Name: "flann", Minutes: 3, Get: measure.InCorpus(cost.MeasureFLANNOfCorpus), Short: "compare the forests with FLANN's"},
		{Name: "peers", Minutes: 2, Needs: measure.NeedsSize, Get: measure.OfSize(cost.MeasureBaselines), Short: "compare sealed with plaintext searches and with BGV"},
		{Name: "scaling", Minutes: 1, Needs: measure.NeedsMaxN, Get: cost.ScalingSteps, Short: "measure growth with n"},
		{Name: "numbers", Needs: measure.NeedsSize, Get: numbersStep, Short: "compare the numbers in the paper's text with ours"},
		{Name: "agreement", Minutes: 0.5, Needs: measure.NeedsIndex, Get: measure.InSession(quality.MeasureAgreement), Short: "compare the encrypted search with its plaintext twin"},
		{Name: "letter", Minutes: 1, Needs: measure.NeedsLiteralN, Get: cost.LetterStep, Short: "run the paper's boxes and Algorithm 1 as printed and measure their cost"},
		{Name: "attacks", Minutes: 14, Needs: measure.NeedsModel, Get: measure.InCorpus(attack.MeasureAttacks), Short: "attack the schemes as a curious server, as SECURITY.md describes"},
		{Name: "security", Custom: true, Get: measure.OfSize(func(context.Context, *measure.Lab, int) (*attack.Security, error) { return attack.ComputeSecurity() })},
		{Name: "search", Minutes: 2, Custom: true, Needs: measure.NeedsModel, Get: measure.OfSize(measureSearch)},
		{Name: "clip", Minutes: 0.2, Custom: true, Get: measure.OfSize(measureClip)},
		{Name: "load", Minutes: 4, Custom: true, Get: measure.OfSize(measureLoad)},
		{Name: "memory", Minutes: 10, Custom: true, Needs: measure.NeedsSize, Get: measure.OfSize(measureMemory)},
		{Name: "kernels", Minutes: 0.2, Get: measure.OfSize(measureKernels), Short: "time the kernels of this processor, beside instructions on arm64"},
	}
}

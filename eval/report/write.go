// Package report presents the results of the evaluation.
//
//	measure.Results ─▶ NAME.csv        one per table
//	                ├▶ plots/NAME.svg  our points beside the paper's
//	                └▶ machine.txt     the machine that measured
//	CSV, plots      ─▶ docs/results.md      tables for readers (WriteResults)
//
// Function Measurements lists every measurement. Only cmd/cpar-eval imports
// this package.
package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"cpar"
	"cpar/eval/attack"
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

// Write writes the tables and plots of r into `folder` and returns the names of
// the files. Errors wrap cpar.ErrStorage.
func Write(folder string, r *measure.Results) ([]string, error) {
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
	for _, result := range r.Each {
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
	write(machineName, []byte(r.Machine+"\n"))
	if failed != nil {
		return nil, fmt.Errorf("writing the report: %w", failed)
	}
	return files, nil
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
		{Name: "sweep", Needs: measure.NeedsIndex, Get: measure.InSession(quality.MeasureSweep), Views: []measure.View{
			{Name: "speedup", Short: "measure cpar over capia against AP"},
			{Name: "recall", Short: "measure accuracy against AP"},
			{Name: "tradeoff", Short: "measure speedup against accuracy"},
		}},
		{Name: "cost", Needs: measure.NeedsSize, Get: measure.OfSize(cost.MeasureCost), Short: "measure cloud time against AP, the build and a request"},
		{Name: "alphagamma", Get: measure.InCorpus(quality.MeasureAlphaGamma), Short: "measure error and size of the L1 approximation against α and γ"},
		{Name: "pca", Get: measure.InCorpus(quality.MeasurePCA), Short: "measure the accuracy lost by PCA"},
		{Name: "sealed", Needs: measure.NeedsSize, Get: cost.SealedSteps, Short: "measure quality and cost of schemes sealed and local"},
		{Name: "profiles", Needs: measure.NeedsSize | measure.NeedsModel, Get: measure.OfSize(quality.MeasureProfiles), Short: "compare the quality and cost of profiles"},
		{Name: "draws", Needs: measure.NeedsModel | measure.NeedsDraws, Get: quality.DrawSteps, Short: "measure quality as mean and range over draws of key and order"},
		{Name: "small", Needs: measure.NeedsModel | measure.NeedsDraws, Get: quality.SmallStep, Short: "measure calibration after few photos"},
		{Name: "profile-growth", Needs: measure.NeedsSize, Get: cost.ProfileGrowthStep, Short: "measure scheme sealed with short vectors, up to a million records"},
		{Name: "sealed-size", Needs: measure.NeedsSize | measure.NeedsModel, Get: cost.SealedTargetsStep, Short: "measure scheme sealed at the sizes of its documented targets"},
		{Name: "clusters", Needs: measure.NeedsModel, Get: measure.InCorpus(quality.MeasureCells), Short: "measure recall when a request searches one hidden cell"},
		{Name: "structures", Get: measure.InCorpus(quality.MeasureStructures), Short: "measure recall by structure and search of an index"},
		{Name: "corel5k", Needs: measure.NeedsIndex, Get: quality.Corel5kStep, Short: "measure annotation quality by the standard protocol"},
		{Name: "samples", Needs: measure.NeedsIndex, Get: measure.InSession(quality.MeasureSamples), Short: "annotate a few test images"},
		{Name: "flann", Get: measure.InCorpus(cost.MeasureFLANNOfCorpus), Short: "compare the forests with FLANN's"},
		{Name: "peers", Needs: measure.NeedsSize, Get: measure.OfSize(cost.MeasureBaselines), Short: "compare sealed with plaintext searches and with BGV"},
		{Name: "scaling", Needs: measure.NeedsMaxN, Get: cost.ScalingSteps, Short: "measure growth with n"},
		{Name: "numbers", Needs: measure.NeedsSize, Get: numbersStep, Short: "compare the numbers in the paper's text with ours"},
		{Name: "agreement", Needs: measure.NeedsIndex, Get: measure.InSession(quality.MeasureAgreement), Short: "compare the encrypted search with its plaintext twin"},
		{Name: "letter", Needs: measure.NeedsLiteralN, Get: cost.LetterStep, Short: "run the paper's boxes and Algorithm 1 as printed and measure their cost"},
		{Name: "attacks", Needs: measure.NeedsModel, Get: measure.InCorpus(attack.MeasureAttacks), Short: "attack the schemes as a curious server, as SECURITY.md describes"},
	}
}

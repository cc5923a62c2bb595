package feature

import (
	"fmt"
	"math"

	"cpar"
	"cpar/photo/decode"
)

// An Extractor computes the features of images, one at a time. It holds about
// 1.7 MB of buffers and must not be used concurrently.
type Extractor struct {
	plan  *plan // for the previous image's size, because collections have few sizes
	color colorCounts
	gabor *gaborScratch
	haar  [haarSide * haarSide]float64
	patch *patchScratch
}

func NewExtractor() *Extractor { return &Extractor{gabor: newGaborScratch(), patch: newPatchScratch()} }

type plan struct {
	w, h            int
	reducer         *reducer
	grey128, grey64 *target
	patch           *target // input of the patches, in colour
	patchWidth      int
	small           *target // input of the colour histograms, nil unless a side exceeds 256 pixels
}

func newPlan(w, h int) *plan {
	pl := &plan{w: w, h: h, grey128: newTarget(w, h, gaborSide, gaborSide, 1), grey64: newTarget(w, h, haarSide, haarSide, 1)}
	long, short := patchLong, patchShort
	if w < h {
		long, short = short, long
	}
	pl.patch, pl.patchWidth = newTarget(w, h, long, short, 3), long
	targets := []*target{pl.grey128, pl.grey64, pl.patch}
	if longest := max(w, h); longest > colorSide {
		reduce := func(n int) int { return max(1, int(math.RoundToEven(float64(n*colorSide)/float64(longest)))) }
		pl.small = newTarget(w, h, reduce(w), reduce(h), 3)
		targets = append(targets, pl.small)
	}
	pl.reducer = newReducer(w, h, targets)
	return pl
}

// Extract computes the vectors of an image in one pass over its rows.
func (e *Extractor) Extract(p *decode.Image) (*Vectors, error) {
	if p == nil || p.Width <= 0 || p.Height <= 0 || len(p.RGB) != 3*p.Width*p.Height {
		return nil, fmt.Errorf("extracting features: %w: invalid image dimensions", cpar.ErrInput)
	}
	if e.plan == nil || e.plan.w != p.Width || e.plan.h != p.Height {
		e.plan = newPlan(p.Width, p.Height)
	}
	pl := e.plan
	clear(pl.reducer.sums)
	for _, t := range pl.reducer.targets {
		clear(t.out)
	}
	e.color = colorCounts{}
	for y := range p.Height {
		row := p.Row(y)
		if pl.small == nil {
			e.color.addBytes(row)
		}
		pl.reducer.add(y, row)
	}
	if pl.small != nil {
		e.color.addMeans(pl.small.out)
	}

	v := New()
	e.color.write(v)
	e.gabor.respond(pl.grey128.scaleToUnit(), v.Gabor, v.GaborQ)
	haarTransform(pl.grey64.scaleToUnit(), e.haar[:])
	haarWrite(e.haar[:], v.Haar, v.HaarQ)
	e.patch.respond(pl.patch.out, pl.patchWidth, v.Patches)
	return v, nil
}

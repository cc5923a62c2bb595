// Package feature turns a photo into the seven vectors of the `paper` profile.
//
//	bytes ─▶ Decode ─▶ Picture ─▶ Extract ─▶ Vectors
//	          (upright sRGB rows)   │ rgb hsv lab    3 × 16 bins, each vector sums to 1
//	                                │ gabor gaborq   4 orientations × 8×8 blocks
//	                                └ haar  haarq    64×64 coefficients, 6 levels
//
// A vector is handed out as extracted: before principal components and before
// L1 normalisation. The features are those of the libraries that the paper's
// authors name, OpenCV and PyWavelets, but for rounding. Tests compare them.
//
// Colour is counted over the image itself when its longest side is at most 256
// pixels, otherwise over the image reduced to that by area averaging. Grey is
// 0.299 R + 0.587 G + 0.114 B, brought to 128×128 for Gabor and to 64×64 for
// Haar whatever the aspect ratio. A JPEG of 1536×768 pixels or more is averaged
// over cells of 2×2, 4×4 or 8×8 pixels while it is decoded; what that changes
// is said in jpegreduced.go.
//
// The features follow Tian, Hou, Yuan, "CPAR: Cloud-Assisted Privacy-preserving
// Image Annotation with Randomized KD-Forest", and the baseline they build on,
// Makadia, Pavlovic, Kumar, "A New Baseline for Image Annotation", ECCV 2008.
//
// Nothing here is secret by itself, but everything here is plaintext: it stays
// with the owner.
package feature

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"cpar"
)

// Version names the definition of the vectors. It changes whenever a vector of
// some image could change by more than rounding, and with it every cache key.
const Version = 4

// The lengths of the vectors.
const (
	ColorDim = 3 * colorBins                 // of rgb, hsv and lab
	GaborDim = 4 * gaborBlocks * gaborBlocks // of gabor and gaborq
	HaarDim  = haarSide * haarSide           // of haar and haarq
)

// Vectors are the features of one image. The caller owns the slices.
type Vectors struct {
	RGB    []float32 `json:"rgb"`    // 48, histogram, sums to 1
	HSV    []float32 `json:"hsv"`    // 48, histogram, sums to 1
	Lab    []float32 `json:"lab"`    // 48, histogram, sums to 1
	Gabor  []float32 `json:"gabor"`  // 256, mean magnitude, ≥ 0, grey in [0, 1]
	GaborQ []float32 `json:"gaborq"` // 256, mean phase in eighths of a turn, 0 … 7
	Haar   []float32 `json:"haar"`   // 4096, magnitudes, ≥ 0, grey in [0, 1]
	HaarQ  []float32 `json:"haarq"`  // 4096, signs: -1, 0, 1
	// Embedding is there where a network was used. It is no part of the JSON.
	Embedding *Embedding `json:"-"`
}

// newVectors returns zeroed vectors, all cut from one allocation.
func newVectors() *Vectors {
	all := make([]float32, 3*ColorDim+2*GaborDim+2*HaarDim)
	cut := func(n int) []float32 {
		s := all[:n:n]
		all = all[n:]
		return s
	}
	return &Vectors{
		RGB: cut(ColorDim), HSV: cut(ColorDim), Lab: cut(ColorDim),
		Gabor: cut(GaborDim), GaborQ: cut(GaborDim),
		Haar: cut(HaarDim), HaarQ: cut(HaarDim),
	}
}

// MarshalJSON writes the vectors with seven decimals, the precision of the
// golden values: more would be noise of the float32 arithmetic.
func (v Vectors) MarshalJSON() ([]byte, error) {
	buf := make([]byte, 0, 64<<10)
	for i, f := range []struct {
		name string
		x    []float32
	}{
		{`{"rgb":[`, v.RGB}, {`,"hsv":[`, v.HSV}, {`,"lab":[`, v.Lab}, {`,"gabor":[`, v.Gabor},
		{`,"gaborq":[`, v.GaborQ}, {`,"haar":[`, v.Haar}, {`,"haarq":[`, v.HaarQ},
	} {
		buf = append(buf, f.name...)
		for j, x := range f.x {
			if x != x || x-x != 0 {
				return nil, fmt.Errorf("writing vector %d of the features: element %d is not a finite number", i, j)
			}
			if j > 0 {
				buf = append(buf, ',')
			}
			buf = appendRounded(buf, float64(x))
		}
		buf = append(buf, ']')
	}
	return append(buf, '}'), nil
}

func appendRounded(buf []byte, x float64) []byte {
	start := len(buf)
	buf = strconv.AppendFloat(buf, x, 'f', 7, 64)
	for buf[len(buf)-1] == '0' {
		buf = buf[:len(buf)-1]
	}
	if buf[len(buf)-1] == '.' {
		buf = buf[:len(buf)-1]
	}
	if string(buf[start:]) == "-0" {
		buf = append(buf[:start], '0')
	}
	return buf
}

// An Extractor is the workspace of one goroutine: about 1.3 MB of buffers that
// serve image after image. It must not be used by two goroutines at once.
type Extractor struct {
	plan  *plan  // of the last picture; collections are of few sizes
	row   []byte // one row of a picture, RGB
	color colorCounts
	gabor *gaborSpace
	haar  [haarSide * haarSide]float64
}

// A plan is how pictures of one size and orientation are reduced.
type plan struct {
	w, h, cell      int // as stored
	turn            orientation
	reducer         *reducer
	grey128, grey64 *target
	small           *target // colours of a picture beyond 256 pixels, else nil
}

func newPlan(p *Picture) *plan {
	pl := &plan{
		w: p.storedW, h: p.storedH, cell: p.cell, turn: p.turn,
		grey128: newTarget(p, gaborSide, gaborSide, 1),
		grey64:  newTarget(p, haarSide, haarSide, 1),
	}
	targets := []*target{pl.grey128, pl.grey64}
	if max(p.storedW, p.storedH) > colorSide {
		w, h := reducedSize(p.storedW, p.storedH)
		pl.small = newStoredTarget(p, w, h, 3)
		targets = append(targets, pl.small)
	}
	pl.reducer = newReducer(p.columns(), p.rows(), targets)
	return pl
}

// NewExtractor returns an empty workspace.
func NewExtractor() *Extractor { return &Extractor{gabor: newGaborSpace()} }

// Extract computes the vectors of one picture in one pass over its rows.
func (e *Extractor) Extract(p *Picture) (*Vectors, error) {
	if p == nil || p.open == nil || p.storedW <= 0 || p.storedH <= 0 || p.cell <= 0 {
		return nil, fmt.Errorf("extracting features: %w: an empty picture; decode one first", cpar.ErrInput)
	}
	if e.plan == nil || e.plan.w != p.storedW || e.plan.h != p.storedH || e.plan.cell != p.cell || e.plan.turn != p.turn {
		e.plan = newPlan(p)
		e.row = make([]byte, 3*p.columns())
	}
	pl := e.plan
	pl.reducer.reset()
	e.color = colorCounts{}
	read := p.open()
	for y := range p.rows() {
		read(y, e.row)
		if pl.small == nil {
			e.color.addBytes(e.row)
		}
		pl.reducer.add(y, e.row)
	}
	if pl.small != nil {
		e.color.addMeans(pl.small.out)
	}

	v := newVectors()
	e.color.write(v)
	e.gabor.respond(pl.grey128.upright(), v.Gabor, v.GaborQ)
	haarTransform(pl.grey64.upright(), e.haar[:])
	haarWrite(e.haar[:], v.Haar, v.HaarQ)
	return v, nil
}

// FromBytes decodes and extracts.
func (e *Extractor) FromBytes(data []byte) (*Vectors, error) {
	p, err := Decode(data)
	if err != nil {
		return nil, err
	}
	return e.Extract(p)
}

// Extract computes the vectors of one picture in a workspace of its own. For
// many pictures use an Extractor, or All.
func Extract(p *Picture) (*Vectors, error) { return NewExtractor().Extract(p) }

// FromBytes decodes an image file's bytes and computes its vectors.
func FromBytes(data []byte) (*Vectors, error) { return NewExtractor().FromBytes(data) }

// FromFile reads an image file and computes its vectors.
func FromFile(path string) (*Vectors, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := FromBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// ReadFile reads an image file after a look at its size, so that a path to
// something that is not a photo at all does not fill the memory.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading image: %w: %w", cpar.ErrInput, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading image %s: %w: not a regular file", path, cpar.ErrInput)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("reading image %s: %w: %d bytes, more than the %d accepted", path, cpar.ErrInput, info.Size(), int64(maxFileBytes))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("reading image: %w: %w; check the file's permissions", cpar.ErrInput, err)
		}
		return nil, fmt.Errorf("reading image: %w: %w", cpar.ErrInput, err)
	}
	return data, nil
}

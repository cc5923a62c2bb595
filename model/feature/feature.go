// Package feature computes the features of a photo: the paper's seven features,
// which profile "paper" uses, and patches, which measure small local
// structures. Profile "learned" uses all eight.
//
//	decode.Image ─▶ Extract ─▶ Vectors
//	             │ rgb hsv lab    3 × 16 bins, each vector sums to 1
//	             │ gabor gaborq   4 orientations × 8×8 blocks
//	             │ haar  haarq    64×64 coefficients, 6 levels
//	             └ patches        4 quarters × 400 patch words
//
// Vectors are raw values. Package profile later reduces some to principal
// components and normalises them. Up to rounding, the paper's seven features
// equal the results of OpenCV and PyWavelets, the libraries named by the
// paper's authors. Tests compare them. For gaborq, see function blockRow.
//
// Colours are counted in the image itself if its longest side is at most 256
// pixels, otherwise in the image reduced to 256 pixels by area averaging. Grey
// is 0.299 R + 0.587 G + 0.114 B, scaled to 128×128 for Gabor and to 64×64 for
// Haar, ignoring the aspect ratio. The paper derives 256 Gabor values from
// twelve filters (three scales, four orientations), although twelve does not
// divide 256. This package averages the scales and computes 64 blocks per
// orientation.
//
// The features follow Tian, Hou, Yuan, "CPAR: Cloud-Assisted Privacy-preserving
// Image Annotation with Randomized KD-Forest", and its baseline, Makadia,
// Pavlovic, Kumar, "A New Baseline for Image Annotation", ECCV 2008.
//
// Features are plaintext and stay with the owner.
package feature

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Version identifies the definition of the vectors and is part of every cache
// key. It must change whenever the vector of some image could change by more
// than rounding.
const Version = 5

const (
	ColorDim = 3 * colorBins
	GaborDim = 4 * gaborBlocks * gaborBlocks
	HaarDim  = haarSide * haarSide
	PatchDim = 4 * patchWords
)

// Vectors are the features of one image. The caller owns the slices.
type Vectors struct {
	RGB    []float32 // 48 bins
	HSV    []float32 // 48 bins
	Lab    []float32 // 48 bins
	Gabor  []float32 // 256 mean magnitudes, for grey in [0, 1]
	GaborQ []float32 // 256 mean phases in eighths of a turn, 0…7
	Haar   []float32 // 4096 magnitudes of coefficients, for grey in [0, 1]
	HaarQ  []float32 // 4096 signs of the same coefficients: -1, 0 or 1
	// Patches has 1600 values: the strength of 400 patch words (local
	// structures such as edges, patches.go) in each quarter, top left, top
	// right, bottom left and bottom right.
	Patches []float32
	// Embedding is the output of the image network, or nil if none was used. It
	// is not part of the JSON.
	Embedding *Embedding `json:"-"`

	stored *place // of a stand-in, whose values Load returns
}

type Kind int

const (
	Histogram Kind = iota // shares of the pixels, summing to 1
	Magnitude             // non-negative
	Quantised             // small integers
)

// A Block is one of the features: its name, length, and field in Vectors.
type Block struct {
	Name string
	Kind Kind
	Len  int
	at   func(*Vectors) *[]float32
}

// Of returns the block's values, which v still owns.
func (b Block) Of(v *Vectors) []float32 { return *b.at(v) }

var blocks = []Block{
	{"rgb", Histogram, ColorDim, func(v *Vectors) *[]float32 { return &v.RGB }},
	{"hsv", Histogram, ColorDim, func(v *Vectors) *[]float32 { return &v.HSV }},
	{"lab", Histogram, ColorDim, func(v *Vectors) *[]float32 { return &v.Lab }},
	{"gabor", Magnitude, GaborDim, func(v *Vectors) *[]float32 { return &v.Gabor }},
	{"gaborq", Quantised, GaborDim, func(v *Vectors) *[]float32 { return &v.GaborQ }},
	{"haar", Magnitude, HaarDim, func(v *Vectors) *[]float32 { return &v.Haar }},
	{"haarq", Quantised, HaarDim, func(v *Vectors) *[]float32 { return &v.HaarQ }},
	{"patches", Magnitude, PatchDim, func(v *Vectors) *[]float32 { return &v.Patches }},
}

// Blocks returns the features in the order of Vectors.
func Blocks() []Block { return slices.Clone(blocks) }

func New() *Vectors {
	v := new(Vectors)
	for _, b := range blocks {
		*b.at(v) = make([]float32, b.Len)
	}
	return v
}

// MarshalJSON writes an object with one array per feature. Numbers have seven
// decimals, about float32's precision.
func (v Vectors) MarshalJSON() ([]byte, error) {
	buf := make([]byte, 0, 64<<10)
	for i, b := range blocks {
		buf = append(buf, "{,"[min(i, 1)])
		buf = append(strconv.AppendQuote(buf, b.Name), ":["...)
		for j, x := range b.Of(&v) {
			if x-x != 0 {
				return nil, fmt.Errorf("writing features: %s: element %d is not a finite number", b.Name, j)
			}
			if j > 0 {
				buf = append(buf, ',')
			}
			buf = strconv.AppendFloat(buf, math.Round(float64(x)*1e7)/1e7, 'f', -1, 64)
		}
		buf = append(buf, ']')
	}
	return append(buf, '}'), nil
}

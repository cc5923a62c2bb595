package feature

import (
	_ "embed"
	"encoding/binary"
	"math"

	"cpar/internal/f32"
)

// Patches measure small structures in each quarter of an image: edges, corners,
// blobs and gratings, found by clustering (Coates, Ng, Lee, "An analysis of
// single-layer networks in unsupervised feature learning", AISTATS 2011, and
// "Learning feature representations with k-means", 2012).
//
//	image ─▶ 96×64 (or 64×96) RGB ─▶ a 6×6 patch at every second pixel, scaled to mean 0 and variance 1
//	  ─▶ 400 words: max(0, word·patch − offset) ─▶ mean over each quarter, 4 × 400 values
//
// A patch word is the product of a cluster's centroid and the matrix that
// whitens patches. Command patchgen, run by go generate, computes both from
// synthetic images, so the package contains no real photos.

//go:generate go run ./patchgen -out patches.bin

const (
	patchSide   = 6
	patchValues = 3 * patchSide * patchSide
	patchStep   = 2
	patchWords  = 400
	// patchLong and patchShort are the sides of the reduced image, which keeps
	// the orientation.
	patchLong, patchShort = 96, 64
	// patchFloor is added to the variance of a patch (values 0…255), so that
	// noise in flat areas such as sky is not amplified.
	patchFloor = 10
	// patchThreshold is subtracted from responses, so weak ones count as 0.
	patchThreshold = 0.5
)

// patchFile holds for each word a scale and an offset (float32), then
// patchValues int16 multiples of the scale, by channel, row and column.
//
//go:embed patches.bin
var patchFile []byte

type patchScratch struct {
	words                       []float32 // patchWords × patchValues
	offsets                     []float32
	patches, responses, scratch []float32 // buffers for one row of patches
}

func newPatchScratch() *patchScratch {
	s := &patchScratch{words: make([]float32, patchWords*patchValues), offsets: make([]float32, patchWords)}
	row := patchFile
	for w := range patchWords {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(row))
		s.offsets[w] = math.Float32frombits(binary.LittleEndian.Uint32(row[4:])) + patchThreshold
		row = row[8:]
		for i := range patchValues {
			s.words[w*patchValues+i] = scale * float32(int16(binary.LittleEndian.Uint16(row[2*i:])))
		}
		row = row[2*patchValues:]
	}
	most := patchesOf(patchLong)
	s.patches, s.responses = make([]float32, most*patchValues), make([]float32, most*patchWords)
	s.scratch = make([]float32, f32.Scratch(most, patchWords, patchValues))
	return s
}

func patchesOf(side int) int { return (side-patchSide)/patchStep + 1 }

// respond fills `out` with the mean response of every word in every quarter of
// an image with w columns and RGB values in 0…255.
func (s *patchScratch) respond(rgb []float64, w int, out []float32) {
	across, down := patchesOf(w), patchesOf(len(rgb)/3/w)
	for y := range down {
		for x := range across {
			normalPatch(s.patches[x*patchValues:][:patchValues], rgb, w, x*patchStep, y*patchStep)
		}
		f32.Mul(s.responses, patchWords, s.patches, patchValues, s.words, patchValues, across, patchWords, patchValues, true, s.scratch)
		for x := range across {
			quarter := 2*(2*y/down) + 2*x/across
			to := out[quarter*patchWords:][:patchWords]
			for k, v := range s.responses[x*patchWords:][:patchWords] {
				if v -= s.offsets[k]; v > 0 {
					to[k] += v
				}
			}
		}
	}
	for i := range out {
		out[i] *= 4 / float32(across*down)
	}
}

// normalPatch fills `to` with the patch at (x, y), ordered by channel, row and
// column, and normalises it to mean 0 and variance 1.
func normalPatch(to []float32, rgb []float64, w, x, y int) {
	k, sum, squares := 0, 0.0, 0.0
	var values [patchValues]float64
	for c := range 3 {
		for j := range patchSide {
			for i := range patchSide {
				v := rgb[3*((y+j)*w+x+i)+c]
				values[k] = v
				sum, squares, k = sum+v, squares+v*v, k+1
			}
		}
	}
	mean := sum / patchValues
	scale := 1 / math.Sqrt(max(0, squares/patchValues-mean*mean)+patchFloor)
	for i, v := range values {
		to[i] = float32((v - mean) * scale)
	}
}

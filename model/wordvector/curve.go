package wordvector

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"cpar/internal/wire"
	"cpar/model/rank"
)

// A Curve is a logistic curve that estimates the probability that a photo has
// the words of a query:
//
//	Probability = σ(c₀ + c₁·s + c₂·log π)
//
// Here s is the similarity of the photo and the query, and π the share of indexed
// photos that have the words.
type Curve [curveTerms]float64

const curveTerms = 3

// The curve `usual` was fitted to the 4,500 training photos of Corel-5k with
// profile "network". It is the mean of the normal prior of Fit, and `spread` holds
// the standard deviations.
var usual, spread = Curve{0.02, 11.28, 1.454}, Curve{1.5, 4, 0.4}

// Fit compares at most testedPhotos photos with at most testedWords words.
const testedPhotos, testedWords = 2000, 500

// Vectors is the part of an index for searches by words.
type Vectors struct {
	Sums  *Sums
	Curve Curve
}

// Fit returns the sums of rows (n × dim) and a curve. It compares a photo with a
// keyword of its own without the photo's row in the keyword's sum.
func Fit(ctx context.Context, dim int, rows [][]int16, keywords [][]string) (*Vectors, error) {
	v := &Vectors{Sums: NewSums(dim), Curve: usual}
	tagged := 0
	for i, row := range rows {
		v.Sums.Add(row, keywords[i])
		if len(keywords[i]) > 0 {
			tagged++
		}
	}
	var seen []observation
	words := v.Sums.Words()
	for i := 0; i < len(rows); i += 1 + len(rows)/testedPhotos {
		if len(keywords[i]) == 0 {
			continue // whether a keyword fits this photo is unknown
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k := 0; k < len(words); k += 1 + len(words)/testedWords {
			if s, ok := v.Sums.observe(words[k], rows[i], slices.Contains(keywords[i], words[k]), tagged); ok {
				seen = append(seen, s)
			}
		}
	}
	return v, v.Curve.fit(ctx, seen)
}

type observation struct {
	terms [curveTerms]float64
	right float64 // 1 if the photo has the word, otherwise 0
}

// observe returns the terms for a photo and a word. If the photo has the word, it
// leaves the photo out of the word's sum.
func (s *Sums) observe(word string, row []int16, right bool, tagged int) (o observation, ok bool) {
	of := s.words[word]
	photos, own := of.photos, int64(0)
	if right {
		photos, own, o.right = photos-1, 1, 1
	}
	inner, square, length := int64(0), 0.0, int64(0) // the square overflows 64 bits if there are many photos
	for k, v := range of.total {
		x := int64(row[k])
		t := v - own*x
		inner, square, length = inner+t*x, square+float64(t)*float64(t), length+x*x
	}
	if photos < 1 || square == 0 || length == 0 || tagged < 2 {
		return o, false
	}
	o.terms = [curveTerms]float64{1, float64(inner) / math.Sqrt(square) / math.Sqrt(float64(length)), math.Log(min(1, float64(photos)/float64(tagged-1)))}
	return o, true
}

// fit maximises the likelihood of the observations times the normal prior around
// `usual`. Newton's method suits, because the logarithm of this product is concave.
func (c *Curve) fit(ctx context.Context, seen []observation) error {
	for range 25 {
		if err := ctx.Err(); err != nil {
			return err
		}
		var h [curveTerms * curveTerms]float64
		var g [curveTerms]float64
		for j := range g {
			h[j*curveTerms+j] = 1 / (spread[j] * spread[j])
			g[j] = (c[j] - usual[j]) * h[j*curveTerms+j]
		}
		for _, o := range seen {
			p := c.sigma(o.terms)
			for j, t := range o.terms {
				g[j] += (p - o.right) * t
				for k, u := range o.terms {
					h[j*curveTerms+k] += p * (1 - p) * t * u
				}
			}
		}
		rank.Solve(h[:], g[:])
		size := 0.0
		for j, d := range g {
			size = max(size, math.Abs(d))
			c[j] -= min(max(d, -1), 1) // shorter steps cannot overshoot where the curve is flat
		}
		if size < 1e-9 {
			break
		}
	}
	return nil
}

func (c *Curve) sigma(terms [curveTerms]float64) float64 {
	z := 0.0
	for j, t := range terms {
		z += c[j] * t
	}
	return 1 / (1 + math.Exp(-z))
}

// Probability evaluates the curve for a similarity s and a share π.
func (c *Curve) Probability(similarity, share float64) float64 {
	return c.sigma([curveTerms]float64{1, similarity, math.Log(max(share, 1e-9))})
}

// AppendBinary appends the sums and, unless v is nil, the curve.
func (v *Vectors) AppendBinary(b []byte) ([]byte, error) {
	if v == nil {
		return (*Sums)(nil).AppendBinary(b)
	}
	b, err := v.Sums.AppendBinary(b)
	for _, x := range v.Curve {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b, err
}

// ReadVectors decodes the output of AppendBinary. Errors wrap cpar.ErrCorrupt.
func ReadVectors(r *wire.Reader) (*Vectors, error) {
	sums, err := ReadSums(r)
	if sums == nil || err != nil {
		return nil, err
	}
	v := &Vectors{Sums: sums}
	for j := range v.Curve {
		if v.Curve[j] = math.Float64frombits(r.U64("curve of word vectors")); !(math.Abs(v.Curve[j]) < 1e6) {
			r.Fail("the curve of word vectors is not finite")
		}
	}
	return v, r.Err()
}

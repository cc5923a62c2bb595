package zeroshot

import (
	"context"
	"crypto/sha256"
	"fmt"

	"cpar/model/feature"
	"cpar/photo/decode"
)

// Two halves of one length need not be of one model: a strange pair ranks words by chance, and
// nothing in the files says so. What can be tried without a photo whose words are known are
// pictures of one colour, and the names of the colours: a pair that belongs together tells
// them apart. A strange pair names each by chance, one in six; that it gets three or more is
// 6 % likely. So a few right answers prove nothing, and few are a reason to doubt, no more.
var colours = []struct {
	name string
	rgb  [3]byte
}{
	{"red", [3]byte{220, 20, 20}}, {"green", [3]byte{20, 160, 40}}, {"blue", [3]byte{20, 40, 220}},
	{"yellow", [3]byte{250, 230, 20}}, {"black", [3]byte{0, 0, 0}}, {"white", [3]byte{255, 255, 255}},
}

// minColourMatches is how many colours a pair must name.
const minColourMatches = 3

// colourSide is the sides of the pictures.
const colourSide = 64

// plain are the embeddings of the pictures of one colour.
func colourEmbeddings(n feature.Encoder, cache *feature.Cache) ([][]float32, error) {
	out := make([][]float32, len(colours))
	for i, c := range colours {
		p := &decode.Image{Width: colourSide, Height: colourSide, RGB: make([]byte, 3*colourSide*colourSide)}
		for k := range p.RGB {
			p.RGB[k] = c.rgb[k%3]
		}
		var err error
		name := sha256.Sum256(fmt.Appendf(nil, "cpar/v1/colour %d %v", colourSide, c.rgb))
		if out[i], err = cache.Embedding(name, n.Digest(), func() ([]float32, error) { return n.Embed(p) }); err != nil {
			return nil, err
		}
		if i > 0 && len(out[i]) != len(out[0]) {
			return nil, fmt.Errorf("the network gives %d values, and %d before", len(out[i]), len(out[0]))
		}
	}
	return out, nil
}

// kin counts the colours whose picture is nearest to their name. What all pictures or all
// names share is taken away first: one half's vectors lie close together, far from the other's.
func countColourMatches(ctx context.Context, pictures [][]float32, t TextEncoder, cache *feature.Cache) (int, error) {
	var prompts []string
	for _, c := range colours {
		prompts = append(prompts, c.name)
	}
	names, err := Vectors(ctx, prompts, t, cache, nil)
	if err != nil {
		return 0, err
	}
	if len(names[0]) != len(pictures[0]) {
		return 0, dimMismatch(len(pictures[0]), len(names[0]))
	}
	pictures, names = centred(pictures), centred(names)
	right := 0
	for i, p := range pictures {
		best := 0
		for j, name := range names {
			if dot(p, name) > dot(p, names[best]) {
				best = j
			}
		}
		if best == i {
			right++
		}
	}
	return right, nil
}

// centred are the directions of vectors, less their mean.
func centred(vectors [][]float32) [][]float32 {
	mean := make([]float64, len(vectors[0]))
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		unit, err := normalised(v)
		if err != nil {
			unit = make([]float32, len(v))
		}
		out[i] = unit
		for k, x := range unit {
			mean[k] += float64(x) / float64(len(vectors))
		}
	}
	for _, v := range out {
		for k := range v {
			v[k] -= float32(mean[k])
		}
		if unit, err := normalised(v); err == nil {
			copy(v, unit)
		}
	}
	return out
}

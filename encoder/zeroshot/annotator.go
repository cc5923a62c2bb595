package zeroshot

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"cpar/internal/progress"
	"cpar/model/feature"
	"cpar/photo/decode"
)

type Options struct {
	Encoder feature.Encoder // the image half of a CLIP-like model
	Text    TextEncoder     // its text half, such as a TextModel
	// Asked lists the keywords that may be returned. They compete with the
	// words of Everyday. If Asked is empty, the words of Everyday may be
	// returned.
	Asked       []string
	MaxKeywords int            // maximum number of keywords per photo
	MinScore    float64        // minimum score of a keyword
	Cache       *feature.Cache // cache of embeddings and keyword vectors, may be nil
	Progress    progress.Func
}

// An Annotator finds keywords for photos. It is safe for concurrent use.
type Annotator struct {
	ranker interface {
		Rank(embedding []float32, limit int, minScore float64, known []string) ([]Score, error)
	}
	opt  Options
	name string
	// ColourMatches is the number of single-colour images, out of ColourCount,
	// for which the two halves find the right colour name.
	ColourMatches, ColourCount int
	// Doubtful reports whether ColourMatches is close to chance.
	Doubtful bool
}

// Prepare computes and caches the keywords' vectors. It checks ctx between
// texts. Errors wrap cpar.ErrInput.
func Prepare(ctx context.Context, o Options) (*Annotator, error) {
	list := Everyday()
	offered := len(list)
	if len(o.Asked) > 0 {
		asked := unique(slices.Clone(o.Asked))
		list, offered = unique(slices.Concat(asked, list)), len(asked)
	}
	pictures, err := colourEmbeddings(o.Encoder, o.Cache)
	if err != nil {
		return nil, fmt.Errorf("trying the image network: %w", err)
	}
	p := &Annotator{opt: o, ColourCount: len(colours)}
	if p.ColourMatches, err = countColourMatches(ctx, pictures, o.Text, o.Cache); err != nil {
		return nil, err
	}
	p.Doubtful = p.ColourMatches < minColourMatches
	vectors, err := Vectors(ctx, list, o.Text, o.Cache, o.Progress)
	if err != nil {
		return nil, err
	}
	if p.ranker, err = NewRanker(list, vectors, offered); err != nil {
		return nil, err
	}
	p.name = fmt.Sprintf("words %x %x %q %q %d %g", o.Encoder.Digest(), o.Text.Digest(), templates, list[:offered], o.MaxKeywords, o.MinScore)
	p.opt.Text = nil // frees the text half, which is no longer needed
	return p, nil
}

// String identifies everything that Keywords depends on, except the photo.
func (p *Annotator) String() string { return p.name }

// Keywords finds keywords for a photo's file, except those in known.
func (p *Annotator) Keywords(path string, known []string) ([]Score, error) {
	data, err := decode.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return p.KeywordsOf(data, known)
}

// KeywordsOf is Keywords for the contents of a file.
func (p *Annotator) KeywordsOf(data []byte, known []string) ([]Score, error) {
	n := p.opt.Encoder
	embedding, err := p.opt.Cache.Embedding(decode.ContentDigest(data), n.Digest(), func() ([]float32, error) {
		decoded, err := decode.Decode(data)
		if err != nil {
			return nil, err
		}
		return n.Embed(decoded)
	})
	if err != nil {
		return nil, err
	}
	return p.ranker.Rank(embedding, p.opt.MaxKeywords, p.opt.MinScore, known)
}

// colours serve to check that the two halves belong together. Halves of
// different models may give vectors of equal length, and then rank keywords at
// random. The check compares embeddings of single-colour images with embeddings
// of the colours' names. A mismatched pair reaches three of six matches with a
// probability of 6 %.
var colours = []struct {
	name string
	rgb  [3]byte
}{
	{"red", [3]byte{220, 20, 20}}, {"green", [3]byte{20, 160, 40}}, {"blue", [3]byte{20, 40, 220}},
	{"yellow", [3]byte{250, 230, 20}}, {"black", [3]byte{0, 0, 0}}, {"white", [3]byte{255, 255, 255}},
}

const minColourMatches = 3

const colourSide = 64 // pixels

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
			return nil, fmt.Errorf("the network gives %d values, but gave %d before", len(out[i]), len(out[0]))
		}
	}
	return out, nil
}

// countColourMatches counts the colours whose image is nearest to their own
// name. It first centres the vectors of each half on their mean, because the
// vectors of one half lie close together.
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

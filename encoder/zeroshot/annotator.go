package zeroshot

import (
	"context"
	"fmt"
	"slices"

	"cpar/internal/progress"
	"cpar/model/feature"
	"cpar/photo/decode"
)

// Options say which words photos are looked through for.
type Options struct {
	Encoder feature.Encoder // the image half
	Text    TextEncoder     // the text half, such as a Half
	// Asked are the words that are offered; none for Everyday, which they are weighed
	// against in any case.
	Asked []string
	// Most and Least are how many words a photo gets at most, and their least score.
	MaxKeywords int
	MinScore    float64
	Cache       *feature.Cache // of embeddings and words' vectors; may be nil
	Progress    progress.Func
}

// Photos finds words for photos. It is safe for concurrent use.
type Annotator struct {
	ranker *Ranker
	opt    Options
	name   string
	// Kin is how many of Of pictures of one colour the two halves name rightly; Doubtful
	// where that is hardly more than by chance.
	ColourMatches, ColourCount int
	Doubtful                   bool
}

// Prepare makes the vectors of words, of which the cache keeps what it can. Errors wrap
// cpar.ErrInput; ctx ends it between two texts.
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
	p.opt.Text = nil // a text half takes much memory, and is not needed any more
	return p, nil
}

// String names all that Words depends on but the photo.
func (p *Annotator) String() string { return p.name }

// Words finds the words of a photo's file. Words in known are left out.
func (p *Annotator) Keywords(path string, known []string) ([]Score, error) {
	data, err := decode.ReadFile(path)
	if err != nil {
		return nil, err
	}
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

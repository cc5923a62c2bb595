package zeroshot

import (
	"context"
	"fmt"
	"slices"

	"cpar/internal/progress"
	"cpar/model/feature"
	"cpar/photo/decode"
)

// Options configure Prepare.
type Options struct {
	Encoder feature.Encoder // the image half
	Text    TextEncoder     // the text half, such as a TextModel
	// Asked are the offered keywords, ranked against Everyday. If it is empty,
	// Everyday itself is offered.
	Asked []string
	// MaxKeywords and MinScore limit the keywords per photo.
	MaxKeywords int
	MinScore    float64
	Cache       *feature.Cache // of embeddings and keyword vectors, may be nil
	Progress    progress.Func
}

// An Annotator finds keywords for photos. It is safe for concurrent use.
type Annotator struct {
	ranker interface {
		Rank(embedding []float32, most int, least float64, known []string) ([]Score, error)
	}
	opt  Options
	name string
	// ColourMatches counts the single-colour images, out of ColourCount, that
	// the two halves name correctly. Doubtful reports a result close to chance.
	ColourMatches, ColourCount int
	Doubtful                   bool
}

// Prepare computes the vectors of the keywords and caches them. ctx is checked
// between texts. Errors wrap cpar.ErrInput.
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
	p.opt.Text = nil // frees the memory of a text half no longer needed
	return p, nil
}

// String identifies everything but the photo that determines Keywords.
func (p *Annotator) String() string { return p.name }

// Keywords finds the keywords of a photo's file, except those in known.
func (p *Annotator) Keywords(path string, known []string) ([]Score, error) {
	data, err := decode.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return p.KeywordsOf(data, known)
}

// KeywordsOf is Keywords of the file's contents.
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

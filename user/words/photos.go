package words

import (
	"context"
	"fmt"
	"slices"

	"cpar/internal/progress"
	"cpar/user/feature"
	"cpar/user/picture"
)

// Options say which words photos are looked through for.
type Options struct {
	Encoder feature.Network // the image half
	Text    Texter          // the text half, such as a Half
	// Asked are the words that are offered; none for Everyday, which they are weighed
	// against in any case.
	Asked []string
	// Most and Least are how many words a photo gets at most, and their least score.
	Most     int
	Least    float64
	Cache    *feature.Cache // of embeddings and words' vectors; may be nil
	Progress progress.Func
}

// Photos finds words for photos. It is safe for concurrent use.
type Photos struct {
	ranker *Ranker
	opt    Options
	name   string
	// Kin is how many of Of pictures of one colour the two halves name rightly; Doubtful
	// where that is hardly more than by chance.
	Kin, Of  int
	Doubtful bool
}

// Prepare makes the vectors of words, of which the cache keeps what it can. Errors wrap
// cpar.ErrInput; ctx ends it between two texts.
func Prepare(ctx context.Context, o Options) (*Photos, error) {
	list := Everyday()
	offered := len(list)
	if len(o.Asked) > 0 {
		asked := unique(slices.Clone(o.Asked))
		list, offered = unique(slices.Concat(asked, list)), len(asked)
	}
	pictures, err := plain(o.Encoder, o.Cache)
	if err != nil {
		return nil, fmt.Errorf("trying the image network: %w", err)
	}
	p := &Photos{opt: o, Of: len(colours)}
	if p.Kin, err = kin(ctx, pictures, o.Text, o.Cache); err != nil {
		return nil, err
	}
	p.Doubtful = p.Kin < kinOf
	vectors, err := Vectors(ctx, list, o.Text, o.Cache, o.Progress)
	if err != nil {
		return nil, err
	}
	if p.ranker, err = NewRanker(list, vectors, offered); err != nil {
		return nil, err
	}
	p.name = fmt.Sprintf("words %x %x %q %q %d %g", o.Encoder.Digest(), o.Text.Digest(), templates, list[:offered], o.Most, o.Least)
	p.opt.Text = nil // a text half takes much memory, and is not needed any more
	return p, nil
}

// String names all that Words depends on but the photo.
func (p *Photos) String() string { return p.name }

// Words finds the words of a photo's file. Words in known are left out.
func (p *Photos) Words(path string, known []string) ([]Score, error) {
	data, err := picture.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := p.opt.Encoder
	embedding, err := p.opt.Cache.Embedding(picture.Content(data), n.Digest(), func() ([]float32, error) {
		decoded, err := picture.Decode(data)
		if err != nil {
			return nil, err
		}
		return n.Embed(decoded)
	})
	if err != nil {
		return nil, err
	}
	return p.ranker.Rank(embedding, p.opt.Most, p.opt.Least, known)
}

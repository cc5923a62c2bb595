package user

import (
	"context"
	"fmt"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/parallel"
	"cpar/user/rank"
)

// A RankerKind names what ranks the keywords of neighbours.
type RankerKind uint8

// The rankers.
const (
	// RankerDefault is the paper's with profile `paper`, calibrated with others.
	RankerDefault RankerKind = 0
	// RankerPaper: the weights W_t of the paper.
	RankerPaper RankerKind = 1
	// RankerCalibrated: distance-weighted votes that give rare words their due,
	// with a probability for each keyword (rank.Calibrated).
	RankerCalibrated RankerKind = 2
)

func (k RankerKind) String() string {
	switch k {
	case RankerDefault:
		return "default"
	case RankerPaper:
		return "paper"
	case RankerCalibrated:
		return "calibrated"
	}
	return fmt.Sprintf("ranker %d", uint8(k))
}

// MarshalText writes a ranker in JSON as String does.
func (k RankerKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// ParseRanker is the inverse of RankerKind.String.
func ParseRanker(name string) (RankerKind, error) {
	for _, k := range []RankerKind{RankerDefault, RankerPaper, RankerCalibrated} {
		if strings.EqualFold(name, k.String()) {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%w: no ranker %q; there are default, paper and calibrated", cpar.ErrInput, name)
}

// of is the ranker that a profile gets.
func (k RankerKind) of(profile ProfileKind) RankerKind {
	switch {
	case k != RankerDefault:
		return k
	case profile == ProfilePaper:
		return RankerPaper
	}
	return RankerCalibrated
}

// A Ranking says which keywords of neighbours are wanted.
type Ranking struct {
	// Most is the greatest number of keywords.
	Most int
	// Ranker is the index's own where it is RankerDefault.
	Ranker RankerKind
	// Rare has a calibrated ranker give rare words their due, which precision and
	// recall as means over words reward. Otherwise the words that are most likely
	// right come first, of which a person finds more to be right.
	Rare bool
	// MinProbability leaves out keywords that are less probable; a calibrated
	// ranker only.
	MinProbability float64
}

// Ranker is what the index ranks by where nothing else is asked for.
func (o *Owner) Ranker() RankerKind {
	if o.profile.ranker != nil {
		return RankerCalibrated
	}
	return RankerPaper
}

// Profile is the profile that the index was built with.
func (o *Owner) Profile() ProfileKind { return o.profile.front.kind() }

// Dimensions is the length of a photo's vector before it is encrypted: 2·(48 + 256) +
// 2·4096/X levels in profile `paper` with PCA-X, at most MaxEmbedded values in the others.
func (o *Owner) Dimensions() int { return o.profile.front.shape().levels }

// Neighbours is how many of the nearest records the index's ranker wants.
func (o *Owner) Neighbours() int {
	if o.profile.ranker != nil {
		return o.profile.ranker.Neighbours()
	}
	return kept
}

// CheckRanking refuses a ranking that the index has no ranker for.
func (o *Owner) CheckRanking(r Ranking) error {
	switch {
	case r.Most < 1:
		return fmt.Errorf("ranking keywords: %w: %d keywords wanted; 1 is the least", cpar.ErrInput, r.Most)
	case !(r.MinProbability >= 0 && r.MinProbability <= 1):
		return fmt.Errorf("ranking keywords: %w: a probability of %g; it is from 0 to 1", cpar.ErrInput, r.MinProbability)
	case r.Ranker > RankerCalibrated:
		return fmt.Errorf("ranking keywords: %w: %v", cpar.ErrInput, r.Ranker)
	case r.Ranker == RankerCalibrated && o.profile.ranker == nil:
		return hint.Add(fmt.Errorf("ranking keywords: %w: the index has no calibrated ranker", cpar.ErrInput), "build it with --ranker calibrated")
	case r.Rare && (r.Ranker == RankerPaper || o.profile.ranker == nil):
		return hint.Add(fmt.Errorf("ranking keywords: %w: weights W_t know no rare words", cpar.ErrInput), "build the index with --ranker calibrated, or leave --rare out")
	case r.MinProbability > 0 && (r.Ranker == RankerPaper || o.profile.ranker == nil):
		return hint.Add(fmt.Errorf("ranking keywords: %w: weights W_t are no probabilities", cpar.ErrInput), "build the index with --ranker calibrated, or leave --min-probability out")
	}
	return nil
}

// Rank ranks the keywords of neighbours, best first. Probability is 0 where the
// ranker is the paper's. A ranking that CheckRanking refuses gives the error.
func (o *Owner) Rank(near []Neighbour, r Ranking) ([]rank.Scored, error) {
	if err := o.CheckRanking(r); err != nil {
		return nil, err
	}
	if r.Ranker == RankerPaper || o.profile.ranker == nil {
		out := []rank.Scored{}
		for _, k := range RankKeywords(near, r.Most) {
			out = append(out, rank.Scored{Word: k.Word, Weight: k.Weight})
		}
		return out, nil
	}
	ranked := o.profile.ranker.Probable
	if r.Rare {
		ranked = o.profile.ranker.Keywords
	}
	out := ranked(rankable(near), r.Most)
	kept := out[:0]
	for _, k := range out {
		if k.Probability >= r.MinProbability {
			kept = append(kept, k)
		}
	}
	return kept, nil
}

func rankable(near []Neighbour) []rank.Neighbour {
	list := make([]rank.Neighbour, len(near))
	for i, x := range near {
		list[i] = rank.Neighbour{Dis: x.Dis, Keywords: x.Keywords}
	}
	return list
}

// RankKeywords ranks the keywords of neighbours by the paper's W_t, heaviest
// first, at most n of them.
func RankKeywords(near []Neighbour, n int) []rank.Keyword { return rank.Keywords(rankable(near), n) }

const (
	// calibrateBy bounds the photos that a ranker is calibrated by, and
	// calibrateFolds divides them, into as many parts as package learn does: means
	// over words compare only where as many photos are asked.
	calibrateBy    = 2000
	calibrateFolds = 10
	// calibrateKeep is how many keywords a photo gets while parameters are chosen.
	calibrateKeep = 5
)

// calibrate gives the profile the ranker that was asked for. Where the front was
// not learnt from keywords a photo's nearest others are a fair test; learnt ones
// bring a ranker with them.
func (b *Builder) calibrate(ctx context.Context) error {
	p := b.profile
	switch b.opt.Ranker.of(p.front.kind()) {
	case RankerPaper:
		p.ranker = nil
		return nil
	case RankerCalibrated:
		if p.ranker != nil {
			return nil
		}
	}
	samples, err := b.samples(ctx, calibrateBy)
	if err != nil {
		return err
	}
	if p.ranker, _, err = rank.Calibrate(samples, b.keywords, calibrateKeep, 0); err != nil {
		return err
	}
	if len(foldsOf(samples)) > 1 {
		b.Validation, err = validate(samples, b.keywords, RankerCalibrated, calibrateKeep)
	}
	return err
}

// samples are photos of the collection, spread over it, with their nearest others
// by the distances that will be searched by.
func (b *Builder) samples(ctx context.Context, most int) ([]rank.Sample, error) {
	n := len(b.vectors)
	records, err := b.plainRows()
	if err != nil {
		return nil, err
	}
	rows := asWords(records)
	asked := min(n, most)
	out := make([]rank.Sample, asked)
	errs := make([]error, asked)
	b.opt.Progress.Report("calibrate", 0, asked)
	for from := 0; from < asked; from += 64 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parallel.For(min(64, asked-from), func(k int) {
			i := from + k
			out[i], errs[i] = b.sample(rows, i*n/asked, i%calibrateFolds)
		})
		b.opt.Progress.Report("calibrate", min(from+64, asked), asked)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *Builder) sample(rows []uint64, record, fold int) (rank.Sample, error) {
	const scale = 1 << 10
	plain, err := b.requestVector(b.vectors[record], scale)
	if err != nil {
		return rank.Sample{}, err
	}
	space := &wordSpace{rows: rows, request: asWords(plain)}
	s := rank.Sample{Truth: b.keywords[record], Fold: fold}
	for _, h := range space.scan(len(b.vectors), rank.MostNeighbours+1) {
		if int(h.Record) != record {
			s.Near = append(s.Near, rank.Neighbour{Dis: max(0, b.budget.Dis(h.Score, scale)), Keywords: b.keywords[h.Record]})
		}
	}
	s.Near = s.Near[:min(len(s.Near), rank.MostNeighbours)]
	return s, nil
}

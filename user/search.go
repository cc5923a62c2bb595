package user

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/model/wordvector"
	"cpar/photo/metadata"
)

// This file searches an index for words, or for photos like another. A word's
// vector is sent in the same way as a photo's vector, so that the server cannot
// tell a word from a photo:
//
//	words ─▶ SearchWords ─▶ Search ─▶ Requests ║─▶ replies ║─▶ neighbours ─▶ Hits
//	photo ─▶ SearchLike ──────▲                ║           ║

// A Search is a query for photos that is ready to be sent.
type Search struct {
	owner  *Owner
	vector *vector.Vector
	// A photo that suits the query has one of the keywords in each element of
	// `wanted` and none of those in `refused`. Both are nil for a search by photo.
	wanted, refused [][]string
}

// A Hit is a record (indexed photo) that a search found.
type Hit struct {
	Record uint32
	// Similarity is the cosine of the vectors of the photo and the query.
	Similarity float64
	// Probability estimates whether the photo shows what the words name. It is
	// 0 for a search by photo.
	Probability float64
	Keywords    []string
}

const likely = 0.5

// Likely reports whether a hit is likelier right than wrong.
func (h Hit) Likely() bool { return h.Probability >= likely }

// MostFound is the maximum number of hits of a search.
const MostFound = math.MaxUint16

// TextVectors computes the vectors of words by a network's text half (text
// encoder). It is nil if there is no text half.
type TextVectors = profile.TextVectors

// CanSearch returns an error if the index cannot be searched for words.
func (o *Owner) CanSearch() error {
	l := o.ledger
	switch {
	case l.rows != nil:
		return nil
	case l.profile.Kind() == profile.Paper:
		return hint.Add(fmt.Errorf("searching for words: %w: profile paper has no vectors of words", cpar.ErrInput), "build the index with --profile network or learned")
	case !l.scheme.Grows():
		return hint.Add(fmt.Errorf("searching for words: %w: scheme %v has no vectors of words", cpar.ErrInput, l.scheme), "build the index with scheme %v", DefaultScheme)
	}
	return hint.Add(fmt.Errorf("searching for words: %w: the index was built by an earlier version, which kept no vectors of words", cpar.ErrVersion),
		"cpar compact --index INDEX computes them; then push the index")
}

// SearchWords prepares a search for words. Words that are neither keywords of
// the index nor their synonyms in the owner's vocabulary need a text half.
// Without one, the error is ErrInput.
func (o *Owner) SearchWords(q wordvector.Query, text TextVectors) (*Search, error) {
	if err := o.CanSearch(); err != nil {
		return nil, err
	}
	s, sums, known := &Search{owner: o}, o.ledger.sums(), o.knownWords()
	q, err := q.Resolve(func(word string) bool { return len(o.alternatives(word, known)) > 0 })
	if err != nil {
		return nil, err
	}
	var vectors [][]float64
	var weights []float64
	var unknown []string
	for _, t := range q {
		words := o.alternatives(t.Word, known)
		v, ok := mean(sums, words)
		if !ok && text != nil {
			if v, err = o.textVector(t.Word, text); err != nil {
				return nil, err
			}
			ok, words = true, []string{t.Word}
		}
		if !ok {
			unknown = append(unknown, t.Word)
			continue
		}
		vectors, weights = append(vectors, v), append(weights, t.Weight)
		to := &s.wanted
		if t.Weight < 0 {
			to = &s.refused
		}
		*to = append(*to, words)
	}
	if len(unknown) > 0 {
		return nil, unknownWords(unknown, slices.Concat(slices.Collect(maps.Values(known))...))
	}
	s.vector, err = combined(vectors, weights)
	return s, err
}

// Vector returns the plaintext vector of the query, which is as private as its words.
func (s *Search) Vector() *vector.Vector { return s.vector }

// Again prepares the same request for another generation of the index.
func (s *Search) Again(o *Owner) *Search { return &Search{owner: o, vector: s.vector} }

// SearchLike prepares a search for photos like one, given as the bytes of its
// file. SetEncoder must have set the network of the index, if it has one.
func (o *Owner) SearchLike(file []byte) (*Search, error) {
	if o.Profile().Kind() == profile.Paper {
		return nil, hint.Add(fmt.Errorf("searching by likeness: %w: profile paper has no similarity", cpar.ErrInput), "build the index with --profile network or learned")
	}
	features, err := o.Features(file)
	if err != nil {
		return nil, fmt.Errorf("searching by likeness: %w", err)
	}
	v, err := o.Vector(features)
	return &Search{owner: o, vector: v}, err
}

// textVector returns the vector of a word by the text half of the network.
func (o *Owner) textVector(word string, text TextVectors) ([]float64, error) {
	p, ok := o.Profile().(*profile.ClipProfile)
	if !ok {
		return nil, hint.Add(fmt.Errorf("searching for words: %w: %q is no keyword, and profile %v has no vectors of text", cpar.ErrInput, sanitize.Text(word), o.Profile().Kind()),
			"build the index with --profile clip")
	}
	vectors, err := text([]string{word})
	if err != nil {
		return nil, err
	}
	x, err := p.TextVector(vectors[0])
	if err != nil {
		return nil, fmt.Errorf("searching for words: %w", err)
	}
	return float64s(x), nil
}

func float64s(x []float32) []float64 {
	out := make([]float64, len(x))
	for k, v := range x {
		out[k] = float64(v)
	}
	return out
}

// knownWords maps the folded form of each word that has photos to its spellings.
func (o *Owner) knownWords() map[string][]string {
	known := map[string][]string{}
	for _, w := range o.ledger.sums().Words() {
		known[metadata.Fold(w)] = append(known[metadata.Fold(w)], w)
	}
	return known
}

// alternatives returns the keywords that a word of a query means: its spellings
// and synonyms or, if there are none, the words below it in the vocabulary.
func (o *Owner) alternatives(word string, known map[string][]string) (words []string) {
	v := o.Vocabulary()
	meant := metadata.Fold(v.Word(word))
	for folded, spellings := range known {
		if folded == metadata.Fold(word) || metadata.Fold(v.Word(spellings[0])) == meant {
			words = append(words, spellings...)
		}
	}
	if words == nil {
		for _, w := range v.Related(word) {
			words = append(words, known[metadata.Fold(w)]...)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// mean returns the direction of the mean of the words' unit vectors.
func mean(sums *wordvector.Sums, words []string) ([]float64, bool) {
	var all [][]float64
	for _, w := range words {
		if v, ok := sums.Vector(w); ok {
			all = append(all, v)
		}
	}
	switch len(all) {
	case 0:
		return nil, false
	case 1:
		return all[0], true
	}
	x, err := wordvector.Combine(all, slices.Repeat([]float64{1}, len(all)))
	if err != nil {
		return nil, false
	}
	return float64s(x), true
}

// nearestWords is the number of known words that an error suggests.
const nearestWords = 3

func unknownWords(unknown, known []string) error {
	var quoted, near []string
	for _, w := range unknown {
		quoted = append(quoted, fmt.Sprintf("%q", sanitize.Text(w)))
		for _, n := range wordvector.Nearest(w, known, nearestWords) {
			if n = fmt.Sprintf("%q", sanitize.Text(n)); !slices.Contains(near, n) {
				near = append(near, n)
			}
		}
	}
	advice := "pass the text half of the network (--text-model), or tag some photos with it"
	if len(near) > 0 {
		advice = "similar keywords: " + strings.Join(near, ", ") + "; or " + advice
	}
	return hint.Add(fmt.Errorf("searching for words: %w: no photo of the index has the keyword %s", cpar.ErrInput, strings.Join(quoted, ", ")), "%s", advice)
}

// share returns the share of suitable photos among the indexed photos with
// keywords. It counts at least one of each.
func (s *Search) share() (float64, error) {
	x, ok := schemes[s.owner.Scheme()].updatable(s.owner.scheme)
	if !ok {
		return 0, fmt.Errorf("searching for words: %w: the index is not open", cpar.ErrInput)
	}
	all, err := x.KeywordsOf()
	tagged, suitable := 0, 0
	for _, keywords := range all {
		has := func(words []string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(keywords, w) })
		}
		if len(keywords) > 0 {
			tagged++
			if !slices.ContainsFunc(s.wanted, func(words []string) bool { return !has(words) }) && !slices.ContainsFunc(s.refused, has) {
				suitable++
			}
		}
	}
	return float64(max(1, suitable)) / float64(max(1, tagged)), err
}

// Requests returns the states to keep and the requests to send, which have the
// number and form of the requests for a photo. A request is nil if the owner
// searches the index locally. If every is set, there is one request for each cell.
func (s *Search) Requests(every bool) ([]*Pending, []*cpar.Request, error) {
	p := s.owner.DefaultParams()
	if err := s.owner.check(p); err != nil { // checked first, because check rejects MostFound
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	if Hides(s.owner.Scheme()) {
		p.L = MostFound // schemes that hide distances do not send this number
	}
	return s.owner.requests(s.vector, p, every)
}

// Hits returns the records of the replies to all requests, most similar first.
func (s *Search) Hits(lists ...[]rank.Neighbour) ([]Hit, error) {
	near := Nearest(MostFound, lists...)
	hits, share := make([]Hit, len(near)), 0.0
	if s.wanted != nil {
		var err error
		if share, err = s.share(); err != nil {
			return nil, err
		}
	}
	for i, n := range near {
		hits[i] = Hit{Record: n.Record, Similarity: 1 - n.Dis/2, Keywords: s.owner.Vocabulary().Words(n.Keywords)}
		if share > 0 {
			hits[i].Probability = s.owner.ledger.search.Curve.Probability(hits[i].Similarity, share)
		}
	}
	return hits, nil
}

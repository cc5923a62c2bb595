package ui

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"sync"

	"cpar/photo/metadata"
)

// A survey holds a summary of every photo, for filters, groups of photos by word,
// and the completion of words. A background task fills it, and every read of a
// photo's keywords updates it.
type survey struct {
	mu      sync.RWMutex
	by      map[string]*summary // by photo id
	shared  map[string]string   // one copy of each word, to save memory
	version int                 // number of changes so far

	groups  cached[[]group]
	yours   cached[[]wordCount]
	failing map[string]string // errors of undecodable images, by photo id
	// records holds the result of locate.
	records map[uint32]*shelfPhoto
}

type summary struct {
	yours    []string
	words    []candidate
	problems []string
}

// A candidate is a suggestion that a person has neither accepted nor rejected in
// the photo's file.
type candidate struct {
	word        string
	probability float32 // 0 if the ranker has none
	bar         uint8
	old         bool // written by an earlier run and no longer suggested
	written     bool // already in the file
}

func (c candidate) sure(threshold float64) bool {
	return c.old || c.probability > 0 && float64(c.probability) >= threshold
}

func (c candidate) percent() int {
	if c.probability == 0 {
		return 0
	}
	return min(99, max(1, int(100*c.probability+0.5)))
}

// faintBelow is the probability in percent below which the page hides unlikely
// suggestions until the user asks for them.
const faintBelow = 25

func (c candidate) faint(threshold float64) bool {
	return !c.sure(threshold) && c.probability > 0 && c.percent() < faintBelow
}

// A cached value is valid while its key, which contains the survey's version, is
// current.
type cached[T any] struct {
	key   any
	value T
}

// candidates returns a photo's candidates, best first.
func candidates(k *Known) (words []candidate) {
	most := 0.0
	for _, w := range k.Keywords {
		most = max(most, w.Weight)
	}
	for _, w := range k.Keywords {
		if has(k.Yours, w.Word) || has(k.Rejected, w.Word) {
			continue
		}
		c := candidate{word: w.Word, probability: float32(w.Probability), written: has(k.Machine, w.Word)}
		if c.bar = uint8(c.percent()); c.probability == 0 && most > 0 {
			c.bar = uint8(100 * w.Weight / most)
		}
		words = append(words, c)
	}
	// Machine words of earlier runs still need a decision.
	for _, w := range k.Machine {
		if !slices.ContainsFunc(words, func(c candidate) bool { return metadata.Fold(c.word) == metadata.Fold(w) }) {
			words = append(words, candidate{word: w, old: true, written: true})
		}
	}
	return words
}

func (v *survey) put(id string, k *Known) {
	x := &summary{words: candidates(k), problems: k.Problems}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range x.words {
		x.words[i].word = v.share(x.words[i].word)
	}
	for _, w := range k.Yours {
		x.yours = append(x.yours, v.share(w))
	}
	v.by[id] = x
	v.version++
}

func (v *survey) share(word string) string {
	if s, ok := v.shared[word]; ok {
		return s
	}
	v.shared[word] = word
	return word
}

// clear drops all summaries, because the suggested words have changed.
func (v *survey) clear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.by)
	v.version++
}

// broken records why a photo's keywords could not be read.
func (v *survey) broken(id string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.by[id] = &summary{problems: []string{err.Error()}}
	v.version++
}

// outcome records whether an image could be decoded.
func (v *survey) outcome(id string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if delete(v.failing, id); err != nil {
		v.failing[id] = err.Error()
	}
}

// why returns why a photo or its keywords could not be read, or "".
func (v *survey) why(id string) string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if why := v.failing[id]; why != "" || v.by[id] == nil {
		return why
	}
	return strings.Join(v.by[id].problems, ", ")
}

func (v *survey) get(id string) *summary {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.by[id]
}

func (v *survey) progress() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.by)
}

// locate maps records of the index to photos in the folders. It considers only
// photos with keywords and reads at most maxCompared bytes.
func (s *Server) locate(ctx context.Context) {
	records, err := s.backend.Locate(ctx)
	if records == nil || err != nil {
		return // the page then shows neighbouring photos without pictures
	}
	all, _ := s.photos.list()
	found, left := map[uint32]*shelfPhoto{}, int64(maxCompared)
	for _, p := range all {
		if x := s.survey.get(p.id); ctx.Err() != nil || x == nil || len(x.yours) == 0 {
			continue
		}
		content, ok := s.backend.Content(p.path)
		if !ok {
			info, err := s.photos.stat(p)
			if err != nil || info.Size() > left {
				continue
			}
			left -= info.Size()
			if content, err = s.contentOf(p); err != nil {
				continue
			}
		}
		for _, record := range records(content) {
			found[record] = p
		}
	}
	s.survey.mu.Lock()
	defer s.survey.mu.Unlock()
	s.survey.records = found
}

func (s *Server) surveyAll(ctx context.Context) {
	all, _ := s.photos.list()
	for _, p := range all {
		if ctx.Err() != nil {
			return
		}
		s.lookAgain(p)
	}
	s.locate(ctx)
}

func (s *Server) lookAgain(p *shelfPhoto) {
	if k, err := s.lookAt(p); err != nil {
		s.survey.broken(p.id, err)
	} else {
		s.survey.put(p.id, k)
	}
}

func (s *Server) lookAt(p *shelfPhoto) (*Known, error) {
	if _, err := s.photos.stat(p); err != nil {
		return nil, err
	}
	return s.backend.Look(p.path)
}

type group struct {
	Word   string `json:"word"`
	Likely int    `json:"likely"`
	Maybe  int    `json:"maybe"`
	Faint  int    `json:"faint"` // probability below 25 %
	// Accepted and Rejected count decisions not yet written.
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
}

func (g *group) count(c candidate, threshold float64, n int) {
	switch {
	case c.sure(threshold):
		g.Likely += n
	case c.faint(threshold):
		g.Faint += n
	default:
		g.Maybe += n
	}
}

// groups returns the suggested words, sorted by the number of likely photos.
func (s *Server) groups() []group {
	threshold := s.backend.Settings().limit
	v := s.survey
	v.mu.Lock()
	key := [2]any{v.version, threshold}
	if v.groups.key != key {
		at, all := map[string]int{}, []group{}
		for _, x := range v.by {
			for _, c := range x.words {
				i, ok := at[c.word]
				if !ok {
					i = len(all)
					at[c.word], all = i, append(all, group{Word: c.word})
				}
				all[i].count(c, threshold, 1)
			}
		}
		v.groups = cached[[]group]{key, all}
	}
	all := slices.Clone(v.groups.value)
	v.mu.Unlock()
	at := map[string]int{}
	for i := range all {
		at[metadata.Fold(all[i].Word)] = i
	}
	s.decided.each(func(id string, d Decision) {
		x := v.get(id)
		if x == nil {
			return
		}
		for _, c := range x.words {
			i, ok := at[metadata.Fold(c.word)]
			if mark := d.mark(c.word); ok && mark != "" {
				all[i].count(c, threshold, -1)
				if mark == "accept" {
					all[i].Accepted++
				} else {
					all[i].Rejected++
				}
			}
		}
	})
	slices.SortFunc(all, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.Likely, a.Likely), cmp.Compare(b.Maybe, a.Maybe), cmp.Compare(b.Faint, a.Faint), strings.Compare(a.Word, b.Word))
	})
	return all
}

// A wordCount is a word with its number of photos.
type wordCount struct {
	folded, word string
	photos       int
}

// complete returns words of the photos and the index that begin with a prefix, the
// most frequent first.
func (s *Server) complete(prefix string, limit int) []string {
	v := s.survey
	v.mu.Lock()
	if v.yours.key != any(v.version) {
		v.yours = cached[[]wordCount]{v.version, v.countWords(s.backend.Vocabulary())}
	}
	all := v.yours.value
	v.mu.Unlock()
	prefix = metadata.Fold(prefix)
	first := sort.Search(len(all), func(i int) bool { return all[i].folded >= prefix })
	last := first
	for last < len(all) && strings.HasPrefix(all[last].folded, prefix) {
		last++
	}
	found := slices.Clone(all[first:last])
	slices.SortStableFunc(found, func(a, b wordCount) int { return cmp.Compare(b.photos, a.photos) })
	words := []string{}
	for _, w := range found[:min(limit, len(found))] {
		words = append(words, w.word)
	}
	return words
}

// countWords returns the words of the photos and a vocabulary, sorted. The caller holds
// mu.
func (v *survey) countWords(vocabulary []string) (all []wordCount) {
	photos := map[string]int{}
	for _, w := range vocabulary {
		photos[w] = 0
	}
	for _, x := range v.by {
		for _, w := range x.yours {
			photos[w]++
		}
	}
	for w, n := range photos {
		all = append(all, wordCount{metadata.Fold(w), w, n})
	}
	slices.SortFunc(all, func(a, b wordCount) int {
		return cmp.Or(strings.Compare(a.folded, b.folded), cmp.Compare(b.photos, a.photos))
	})
	return slices.CompactFunc(all, func(a, b wordCount) bool { return a.folded == b.folded })
}

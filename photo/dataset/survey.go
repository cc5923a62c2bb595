package dataset

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cpar/internal/sanitize"
	"cpar/photo"
)

type Survey struct {
	Format      Format  `json:"format"`
	Photos      int     `json:"photos"`
	Keywords    int     `json:"keywords"`
	Mean        float64 `json:"keywords_per_photo"`
	MinKeywords int     `json:"fewest_keywords"`
	MaxKeywords int     `json:"most_keywords"`
	// Frequent holds the ten most frequent keywords in descending order.
	Frequent []Frequency `json:"frequent"`
	// Rare is the number of keywords that only one photo has. They cannot be
	// learnt.
	Rare     int          `json:"of_one_photo"`
	Problems map[Kind]int `json:"problems"`
	// Split is nil if the collection has no split.
	Split *Halves `json:"split,omitempty"`
}

type Frequency struct {
	Word   string `json:"word"`
	Photos int    `json:"photos"`
}

type Halves struct {
	By    string `json:"by"`
	Train int    `json:"train"`
	Test  int    `json:"test"`
}

// LeftOut counts photos that were found or named but are not in c.Photos.
func (c *Collection) LeftOut() int {
	items := c.names()
	left := map[string]bool{}
	for _, w := range c.Warnings {
		switch w.Kind {
		case Missing, Outside, Malformed, Encoding, Unreadable, Ignored, NoKeywords:
			if !items[w.Name] {
				left[w.Name] = true
			}
		}
	}
	return len(left)
}

func (c *Collection) names() map[string]bool {
	names := make(map[string]bool, len(c.Photos))
	for _, it := range c.Photos {
		names[it.Name] = true
	}
	return names
}

// Uncertain returns the warnings that may stand for an existing photo missing
// from c.Photos. Callers that treat missing photos as deleted must check
// Uncertain first.
func (c *Collection) Uncertain() (list []Warning) {
	items := c.names()
	for _, w := range c.Warnings {
		switch w.Kind {
		case NoKeywords, TooMany, Spelling, SplitMismatch, CutShort, Note:
		case Missing:
			// A missing table or folder may hide photos.
			if c.Format != Manifest && !photo.IsPhoto(w.Name) {
				list = append(list, w)
			}
		default:
			if !items[w.Name] {
				list = append(list, w)
			}
		}
	}
	return list
}

func frequencies(photos map[string]int) (list []Frequency) {
	for word, n := range photos {
		list = append(list, Frequency{word, n})
	}
	slices.SortFunc(list, func(a, b Frequency) int {
		return cmp.Or(cmp.Compare(b.Photos, a.Photos), cmp.Compare(a.Word, b.Word))
	})
	return list
}

// List formats the first n counts safely for printing.
func List(all []Frequency, n int) string {
	var parts []string
	for _, f := range all[:min(n, len(all))] {
		parts = append(parts, fmt.Sprintf("%s %d", sanitize.Text(f.Word), f.Photos))
	}
	if len(all) > n {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// PeopleLeftOut counts and lists the names of people that were left out, or
// returns "".
func PeopleLeftOut(people []Frequency) string {
	names := "names of people"
	switch len(people) {
	case 0:
		return ""
	case 1:
		names = "name of a person"
	}
	return fmt.Sprintf("%d %s left out: %s", len(people), names, List(people, 5))
}

// Survey summarises the collection. It fails if the split is unusable.
func (c *Collection) Survey() (*Survey, error) {
	s := &Survey{Format: c.Format, Photos: len(c.Photos), Problems: map[Kind]int{}}
	photos := map[string]int{}
	all := 0
	for i, it := range c.Photos {
		n := len(it.Keywords)
		if all += n; i == 0 {
			s.MinKeywords = n
		}
		s.MinKeywords, s.MaxKeywords = min(s.MinKeywords, n), max(s.MaxKeywords, n)
		for _, k := range it.Keywords {
			photos[k]++
		}
	}
	s.Keywords, s.Mean = len(photos), float64(all)/float64(max(1, len(c.Photos)))
	for _, n := range photos {
		if n == 1 {
			s.Rare++
		}
	}
	s.Frequent = frequencies(photos)
	s.Frequent = s.Frequent[:min(len(s.Frequent), 10)]
	for _, w := range c.Warnings {
		s.Problems[w.Kind]++
	}
	train, test, ok, err := c.Split()
	if ok {
		s.Split = &Halves{By: c.splitFrom, Train: len(train), Test: len(test)}
	}
	return s, err
}

// includeUntagged moves the photos that were left out because they have no
// keywords to c.Photos.
func (c *Collection) includeUntagged() {
	c.Warnings = slices.DeleteFunc(c.Warnings, func(w Warning) bool {
		without := w.Kind == NoKeywords && photo.IsPhoto(w.Name)
		if without {
			c.Photos = append(c.Photos, Photo{Name: w.Name, Path: filepath.Join(c.Dir, filepath.FromSlash(w.Name))})
		}
		return without
	})
}

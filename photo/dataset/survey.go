package dataset

import (
	"cmp"
	"slices"

	"cpar/photo"
)

// Survey is what there is to know of a collection at a glance.
type Survey struct {
	Format      Format  `json:"format"`
	Photos      int     `json:"photos"`
	Keywords    int     `json:"keywords"`
	Mean        float64 `json:"keywords_per_photo"`
	MinKeywords int     `json:"fewest_keywords"`
	MaxKeywords int     `json:"most_keywords"`
	// Frequent are the ten keywords of most photos, the most frequent first.
	Frequent []Frequency `json:"frequent"`
	// Rare counts the keywords of one photo only: nothing can be learnt of them.
	Rare int `json:"of_one_photo"`
	// Problems counts warnings by kind.
	Problems map[Kind]int `json:"problems"`
	// Split is nil if nothing divides the collection.
	Split *Halves `json:"split,omitempty"`
}

// Frequency is how many photos have a word.
type Frequency struct {
	Word   string `json:"word"`
	Photos int    `json:"photos"`
}

// Halves says how many photos are to train and to test on, and what says so.
type Halves struct {
	By    string `json:"by"`
	Train int    `json:"train"`
	Test  int    `json:"test"`
}

// LeftOut counts the photos that reading met or was told of, and that are no items: without
// keywords, unreadable, of a kind that is not read, missing.
func (c *Collection) LeftOut() int {
	items := make(map[string]bool, len(c.Photos))
	for _, it := range c.Photos {
		items[it.Name] = true
	}
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

// Uncertain are the warnings that may hide a photo: it may be there though it is no item.
// Who takes what is no item for gone must look at these first. A photo without keywords is
// no such, nor one that a table names and the disk has not.
func (c *Collection) Uncertain() (list []Warning) {
	items := make(map[string]bool, len(c.Photos))
	for _, it := range c.Photos {
		items[it.Name] = true
	}
	for _, w := range c.Warnings {
		switch w.Kind {
		case NoKeywords, TooMany, Spelling, SplitMismatch, Note:
		case Missing:
			// Of a table or folder that is missing the photos may be there.
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

// Survey counts what the collection has. It fails if the collection has halves that are
// unusable.
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
	for word, n := range photos {
		s.Frequent = append(s.Frequent, Frequency{word, n})
		if n == 1 {
			s.Rare++
		}
	}
	slices.SortFunc(s.Frequent, func(a, b Frequency) int {
		return cmp.Or(cmp.Compare(b.Photos, a.Photos), cmp.Compare(a.Word, b.Word))
	})
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

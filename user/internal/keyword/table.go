package keyword

import (
	"fmt"
	"maps"
	"slices"

	"cpar"
)

// A Table holds the keywords of all records of one generation, as numbers in
// the dictionary. Full pages are written once:
//
//	records      0 … 255 │ 256 … 511 │ … │ the rest, fewer than 256
//	             page 0  │ page 1    │ … │ tail
//	amendments: record ─▶ its current keywords, if its full page holds others
//
// An update appends to the tail, moves full pages out of the tail, and re-encrypts the
// rest. Changed keywords of a record in a full page become an amendment in the tail, so
// an observer cannot tell whether keywords changed. The keywords of removed records
// stay in their pages. If the amendments or a page overflow, all pages are rewritten.
// The epoch is the generation of that rewrite.
//
// A Table is immutable.
type Table struct {
	dict   *Dictionary
	budget int // mean number of keywords per record for which pages have room
	epoch  uint64
	lists  lists
	// amended maps records in full pages to their new keywords.
	amended  map[int][]uint16
	segments int // of full pages
}

const pageRecords = cpar.KeywordPageRecords

// The type lists stores the lists of keyword numbers consecutively.
type lists struct {
	counts  []byte   // number of keywords of each record
	numbers []uint16 // the lists of all records
	// begin[i] is the start of page i in numbers.
	begin []int
}

func (l *lists) add(numbers []uint16) {
	if len(l.counts)%pageRecords == 0 {
		l.begin = append(l.begin, len(l.numbers))
	}
	l.counts, l.numbers = append(l.counts, byte(len(numbers))), append(l.numbers, numbers...)
}

// at returns list i without copying.
func (l *lists) at(i int) []uint16 {
	from := l.begin[i/pageRecords]
	for _, count := range l.counts[i-i%pageRecords : i] {
		from += int(count)
	}
	return l.numbers[from : from+int(l.counts[i]) : from+int(l.counts[i])]
}

// page returns the counts and numbers of page i, which may be incomplete.
func (l *lists) page(i int) (counts []byte, numbers []uint16) {
	if i == len(l.begin) {
		return nil, nil
	}
	to := len(l.numbers)
	if i+1 < len(l.begin) {
		to = l.begin[i+1]
	}
	return l.counts[i*pageRecords : min((i+1)*pageRecords, len(l.counts))], l.numbers[l.begin[i]:to]
}

func (l *lists) first(pages int) lists {
	n, to := pages*pageRecords, len(l.numbers)
	if pages < len(l.begin) {
		to = l.begin[pages]
	}
	// Cut the capacity, so that appending copies the slices rather than
	// overwriting those of l.
	return lists{counts: l.counts[:n:n], numbers: l.numbers[:to:to], begin: l.begin[:pages:pages]}
}

// newTable returns a table whose pages are all written in this generation, with
// the smallest sufficient budget of at least minBudget.
func newTable(d *Dictionary, keywords [][]string, generation uint64, minBudget int) (*Table, error) {
	t := &Table{dict: d, epoch: generation}
	for i, words := range keywords {
		numbers, err := d.numbers(words)
		if err != nil {
			return nil, fmt.Errorf("keywords of record %d: %w", i, err)
		}
		t.lists.add(numbers)
	}
	for _, t.budget = range cpar.KeywordBudgets() {
		if t.budget >= minBudget && t.fits(0) {
			break // the largest budget fits everything
		}
	}
	return t, nil
}

// fits reports whether all pages from number `from` on keep the budget.
func (t *Table) fits(from int) bool {
	for i := from; i < len(t.lists.begin); i++ {
		if _, numbers := t.lists.page(i); len(numbers) > t.budget*pageRecords {
			return false
		}
	}
	return true
}

// TableBytes returns the stored size of a table of these keywords.
func TableBytes(d *Dictionary, keywords [][]string) (uint64, error) {
	t, err := newTable(d, keywords, 1, 0)
	if err != nil {
		return 0, err
	}
	return uint64(t.pages())*uint64(t.PageBytes()) + cpar.KeywordTailBytes(t.PageBytes()), nil
}

// Next returns the table of the generation after t. Parameter `keywords` lists
// the keywords of all records, old records first. The dictionary of c extends
// the dictionary of t. Removed records lose their keywords, but full pages
// still contain them.
func (c *Cipher) Next(t *Table, keywords [][]string, gone func(record int) bool, generation uint64) (*Table, error) {
	written := t.pages() * pageRecords
	next := &Table{dict: c.dict, budget: t.budget, epoch: t.epoch, lists: t.lists.first(t.pages()), amended: maps.Clone(t.amended)}
	if next.amended == nil {
		next.amended = map[int][]uint16{}
	}
	for i, words := range keywords {
		numbers, err := c.dict.numbers(words)
		switch {
		case err != nil:
			return nil, fmt.Errorf("keywords of record %d: %w", i, err)
		case i >= written:
			next.lists.add(numbers)
		case gone(i) || slices.Equal(numbers, t.lists.at(i)):
			delete(next.amended, i)
		default:
			next.amended[i] = numbers
		}
	}
	if next.amendmentBytes() <= amendmentRoom && next.fits(t.pages()) {
		return next, nil
	}
	return newTable(c.dict, keywords, generation, t.budget)
}

func (t *Table) Len() int { return len(t.lists.counts) }

func (t *Table) pages() int { return t.Len() / pageRecords }

func (t *Table) numbers(record int) []uint16 {
	if amended, ok := t.amended[record]; ok {
		return amended
	}
	return t.lists.at(record)
}

func (t *Table) Of(record int) []string {
	numbers := t.numbers(record)
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = t.dict.words[n]
	}
	return out
}

// Count returns the number of live records for each keyword.
func (t *Table) Count(gone func(record int) bool) map[string]int {
	counts := make([]int, len(t.dict.words))
	for i := range t.Len() {
		if gone(i) {
			continue
		}
		numbers := t.numbers(i)
		for k, n := range numbers {
			if !slices.Contains(numbers[:k], n) {
				counts[n]++
			}
		}
	}
	out := map[string]int{}
	for n, count := range counts {
		if count > 0 {
			out[t.dict.words[n]] = count
		}
	}
	return out
}

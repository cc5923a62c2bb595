package keyword

import (
	"fmt"
	"maps"
	"slices"

	"cpar"
)

// A Table is the keywords of all records of one state of an index, by number. What its
// full pages hold was written once and stays:
//
//	records      0 … 255 │ 256 … 511 │ … │ the rest, fewer than 256
//	             page 0  │ page 1    │ … │ tail
//	amendments: record ─▶ its keywords now, where a full page holds others
//
// An update appends to the tail, which every update encrypts anew, and fills pages of it.
// Other keywords of a record in a full page are an amendment, in the tail too: what is
// written does not tell whether any keywords changed. The words of a record that was
// removed stay until the pages are written again. That happens when the amendments do
// not fit their room, or a page its budget; the epoch is the generation of it.
//
// A Table is not changed once it is made.
type Table struct {
	dict *Dictionary
	// budget is one of cpar.KeywordBudgets.
	budget int
	epoch  uint64
	lists  lists
	// amended are other keywords of records in full pages.
	amended map[int][]uint16
	// segments is how many segments its full pages are stored in; recent is the last of
	// them, encrypted, if it is short: more pages join it.
	segments int
	recent   []byte
}

const pageRecords = cpar.KeywordPageRecords

// lists are short lists of numbers, one after the other.
type lists struct {
	counts  []byte
	numbers []uint16
	// begin is where the numbers of each page begin.
	begin []int
}

func (l *lists) add(numbers []uint16) {
	if len(l.counts)%pageRecords == 0 {
		l.begin = append(l.begin, len(l.numbers))
	}
	l.counts, l.numbers = append(l.counts, byte(len(numbers))), append(l.numbers, numbers...)
}

// at is list i, not a copy.
func (l *lists) at(i int) []uint16 {
	from := l.begin[i/pageRecords]
	for _, count := range l.counts[i-i%pageRecords : i] {
		from += int(count)
	}
	return l.numbers[from : from+int(l.counts[i]) : from+int(l.counts[i])]
}

// page are the counts and numbers of a page, of fewer than pageRecords lists at the end.
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

// first are the lists of so many full pages.
func (l *lists) first(pages int) lists {
	n, to := pages*pageRecords, len(l.numbers)
	if pages < len(l.begin) {
		to = l.begin[pages]
	}
	// What is added must not be written over what l has behind these.
	return lists{counts: l.counts[:n:n], numbers: l.numbers[:to:to], begin: l.begin[:pages:pages]}
}

// newTable begins a table all of whose pages are to be written in this generation, with
// the least budget that serves, from a least one on.
func newTable(d *Dictionary, keywords [][]string, generation uint64, least int) (*Table, error) {
	t := &Table{dict: d, epoch: generation}
	for i, words := range keywords {
		numbers, err := d.numbers(words)
		if err != nil {
			return nil, fmt.Errorf("keywords of record %d: %w", i, err)
		}
		t.lists.add(numbers)
	}
	for _, t.budget = range cpar.KeywordBudgets() {
		if t.budget >= least && t.fits(0) {
			break // the last has room for everything
		}
	}
	return t, nil
}

// fits reports whether the pages from one on keep the budget.
func (t *Table) fits(from int) bool {
	for i := from; i < len(t.lists.begin); i++ {
		if _, numbers := t.lists.page(i); len(numbers) > t.budget*pageRecords {
			return false
		}
	}
	return true
}

// TableBytes is what an index stores of a table of these keywords in this order.
func TableBytes(d *Dictionary, keywords [][]string) (uint64, error) {
	t, err := newTable(d, keywords, 1, 0)
	if err != nil {
		return 0, err
	}
	return uint64(t.pages())*uint64(t.PageBytes()) + cpar.KeywordTailBytes(t.PageBytes()), nil
}

// next is the table of the next state, of the keywords of all its records, the old ones
// first. d is the dictionary of t, or that with more words. Records that are gone have
// no keywords to be read any more; what is written of them in full pages stays.
func (t *Table) next(d *Dictionary, keywords [][]string, gone func(record int) bool, generation uint64) (*Table, error) {
	written := t.pages() * pageRecords
	next := &Table{dict: d, budget: t.budget, epoch: t.epoch, lists: t.lists.first(t.pages()), amended: maps.Clone(t.amended)}
	if next.amended == nil {
		next.amended = map[int][]uint16{}
	}
	for i, words := range keywords {
		numbers, err := d.numbers(words)
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
	return newTable(d, keywords, generation, t.budget)
}

// Len is the number of records.
func (t *Table) Len() int { return len(t.lists.counts) }

// pages is the number of full pages.
func (t *Table) pages() int { return t.Len() / pageRecords }

// numbers are those of a record's keywords.
func (t *Table) numbers(record int) []uint16 {
	if amended, ok := t.amended[record]; ok {
		return amended
	}
	return t.lists.at(record)
}

// Of are the keywords of a record.
func (t *Table) Of(record int) []string {
	numbers := t.numbers(record)
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = t.dict.words[n]
	}
	return out
}

// Count counts the records that have each word, of those that are not gone.
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

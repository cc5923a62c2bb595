package keyword

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/seed"
)

// plain models a table as lists of words beside its stored form.
type plain struct {
	t        *testing.T
	id       cpar.IndexID
	words    []string // of the growing dictionary
	first    int      // initial words
	lists    [][]string
	gone     map[int]bool
	at       uint64 // generation
	table    *Table
	segments [][]byte
}

func (p *plain) cipher() *Cipher {
	p.t.Helper()
	d, err := FromWords(p.words[:p.first])
	if err == nil {
		d, err = d.With(p.words[p.first:])
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return NewCipher(seed.Secret{1, 2, 3}, p.id, d)
}

func someWords(n int) (words []string) {
	for i := range n {
		words = append(words, fmt.Sprintf("word %04d", i))
	}
	return words
}

func begin(t *testing.T, rng *rand.Rand, records, most int) *plain {
	t.Helper()
	p := &plain{t: t, id: cpar.IndexID{9}, words: someWords(500), first: 500, gone: map[int]bool{}}
	for range records {
		p.lists = append(p.lists, p.draw(rng, most))
	}
	return p.write()
}

func (p *plain) draw(rng *rand.Rand, most int) (list []string) {
	for _, i := range rng.Perm(len(p.words))[:rng.IntN(most+1)] {
		list = append(list, p.words[i])
	}
	return list
}

// write writes the next generation and reads it back.
func (p *plain) write() *plain {
	p.t.Helper()
	p.at++
	c, lists := p.cipher(), slices.Clone(p.lists)
	for i := range p.gone {
		lists[i] = nil
	}
	var table *Table
	var err error
	if p.table == nil {
		table, err = c.Table(lists, p.at)
	} else {
		table, err = c.Next(p.table, lists, func(i int) bool { return p.gone[i] }, p.at)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	keep, segments := c.Segments(table, p.table, source(), p.at, 1<<20)
	p.segments = append(p.segments[:keep:keep], segments...)
	p.table = p.opened(p.segments)
	return p
}

func (p *plain) open(segments [][]byte) (*Table, error) {
	return p.cipher().OpenTable(segments, len(p.lists), p.at)
}

func (p *plain) opened(segments [][]byte) *Table {
	p.t.Helper()
	table, err := p.open(segments)
	if err != nil {
		p.t.Fatal(err)
	}
	return table
}

func (p *plain) check() {
	p.t.Helper()
	counts := map[string]int{}
	for i, want := range p.lists {
		if p.gone[i] {
			continue
		}
		if got := p.table.Of(i); !slices.Equal(got, want) {
			p.t.Fatalf("generation %d: record %d has %q, want %q", p.at, i, got, want)
		}
		for _, w := range want {
			counts[w]++
		}
	}
	got := p.table.Count(func(i int) bool { return p.gone[i] })
	if len(got) != len(counts) {
		p.t.Fatalf("generation %d: %d words are counted, want %d", p.at, len(got), len(counts))
	}
	for w, n := range counts {
		if got[w] != n {
			p.t.Fatalf("generation %d: %q is counted %d times, want %d", p.at, w, got[w], n)
		}
	}
	for i, s := range p.segments[:len(p.segments)-1] {
		if len(s)%int(p.table.PageBytes()) != 0 {
			p.t.Fatalf("generation %d: segment %d of %d has %d bytes", p.at, i, len(p.segments), len(s))
		}
	}
}

// TestTableAgainstLists compares a table with plain lists over random updates.
// Full pages must stay unchanged until all are rewritten.
func TestTableAgainstLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 17))
	p := begin(t, rng, 700, 9)
	again := 0
	for round := range 60 {
		before := slices.Concat(p.segments[:len(p.segments)-1]...)
		epoch := p.table.epoch
		switch rng.IntN(4) {
		case 0:
			i := rng.IntN(len(p.lists))
			p.lists[i] = p.draw(rng, Max)
		case 1:
			p.gone[rng.IntN(len(p.lists))] = true
		case 2:
			p.words = append(p.words, fmt.Sprintf("new %02d, before those that are there", round))
			p.lists = append(p.lists, []string{p.words[len(p.words)-1], "word 0003"})
		default:
			for range rng.IntN(400) {
				p.lists = append(p.lists, p.draw(rng, 9))
			}
		}
		p.write().check()
		if p.table.epoch != epoch {
			again++
		} else if after := slices.Concat(p.segments[:len(p.segments)-1]...); !bytes.HasPrefix(after, before) {
			t.Fatalf("generation %d: full pages were written again", p.at)
		}
	}
	if again != 0 || len(p.segments) < 2 {
		t.Errorf("all pages were written again %d times, and are in %d segments", again, len(p.segments)-1)
	}
}

// TestLengthTellsNoWords checks that lengths depend only on the number of
// records and the budget, and that all updates write alike.
func TestLengthTellsNoWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 17))
	for _, n := range []int{1, 255, 256, 257, 1000} {
		few, many := begin(t, rng, n, 0), begin(t, rng, n, 8)
		few.lists[0], many.lists[n-1] = []string{"word 0007"}, nil
		few.write()
		many.write()
		want := n/256*int(cpar.KeywordPageBytes(8)) + int(cpar.KeywordTailBytes(cpar.KeywordPageBytes(8)))
		for _, p := range []*plain{few, many} {
			p.check()
			if got := len(slices.Concat(p.segments...)); got != want || len(p.segments) != 1+min(1, n/256) {
				t.Errorf("%d records have %d bytes in %d segments, want %d", n, got, len(p.segments), want)
			}
		}
		d := many.cipher().dict
		if got, err := TableBytes(d, many.lists); err != nil || got != uint64(want) {
			t.Errorf("%d records are said to take %d bytes, %v", n, got, err)
		}
	}
}

func TestOverflowRewritesAllPages(t *testing.T) {
	full := someWords(Max)
	rng := rand.New(rand.NewPCG(3, 17))
	p := begin(t, rng, 600, 2)
	sizes := []uint32{p.table.PageBytes()}
	p.gone[3] = true
	for range 256 {
		p.lists = append(p.lists, full)
		p.write().check()
		if p.table.PageBytes() != sizes[len(sizes)-1] {
			sizes = append(sizes, p.table.PageBytes())
			if p.table.epoch != p.at || len(p.table.Of(3)) != 0 {
				t.Errorf("pages of another length, but of generation %d, not %d", p.table.epoch, p.at)
			}
		}
	}
	if want := []uint32{cpar.KeywordPageBytes(8), cpar.KeywordPageBytes(16), cpar.KeywordPageBytes(31)}; !slices.Equal(sizes, want) {
		t.Errorf("pages of %d bytes, want %d", sizes, want)
	}
	epoch, changed := p.table.epoch, 0
	for p.table.epoch == epoch {
		p.lists[changed] = full
		changed++
		p.write().check()
	}
	if want := amendmentRoom/(5+2*Max) + 2; changed != want { // record 3 is removed
		t.Errorf("%d records had other keywords before all was written again, want %d", changed, want)
	}
	if len(p.table.amended) != 0 || begin(t, rng, 256, 31).table.budget != 16 {
		t.Errorf("%d amendments of pages that were just written", len(p.table.amended))
	}
}

// TestAmendmentsAreMinimal checks that reverted changes and removed records need no
// amendment, and that the budget never decreases, which would reveal a change.
func TestAmendmentsAreMinimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 17))
	p := begin(t, rng, 600, 25)
	first, budget := slices.Clone(p.lists), p.table.budget
	for i := range 40 {
		p.lists[i] = p.draw(rng, Max)
	}
	if p.write().check(); len(p.table.amended) < 38 || budget != 16 {
		t.Fatalf("%d amendments, budget %d", len(p.table.amended), budget)
	}
	copy(p.lists[:20], first)
	for i := 20; i < 500; i++ {
		p.gone[i] = true
	}
	if p.write().check(); len(p.table.amended) != 0 || p.table.epoch != 1 {
		t.Errorf("%d amendments of records that equal their page, or are gone", len(p.table.amended))
	}
	next := func(list ...string) *Table {
		t.Helper()
		table, err := p.cipher().Next(p.table, append(slices.Clone(p.lists), list), func(i int) bool { return p.gone[i] }, p.at+1)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	one, other := next("word 0001"), next("word 0002")
	if got := append(one.Of(600), other.Of(600)...); !slices.Equal(got, []string{"word 0001", "word 0002"}) {
		t.Errorf("two states made from one have %q", got)
	}
	clear(p.gone)
	for i := range p.lists {
		p.lists[i] = []string{"word 0003", "word 0004"}
	}
	if p.write().check(); p.table.epoch != p.at || p.table.budget != budget {
		t.Errorf("written again in generation %d, not %d, with budget %d", p.table.epoch, p.at, p.table.budget)
	}
}

// TestTablesAreBound checks that pages are bound to index, generation, epoch
// and position.
func TestTablesAreBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 17))
	p := begin(t, rng, 1000, 9)
	size := int(p.table.PageBytes())
	old := slices.Clone(p.segments)
	p.lists[5] = []string{"word 0001"}
	p.write()
	tail := slices.Clone(p.segments[1])
	refused := func(name string, segments ...[]byte) {
		t.Helper()
		if _, err := p.open(segments); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	pages := p.segments[0]
	one, two, three := pages[:size], pages[size:2*size], pages[2*size:]
	p.opened([][]byte{one, two, three, tail})
	refused("no segment")
	refused("an older tail", pages, old[1])
	refused("an older page in the tail", pages, slices.Concat(old[1][:size], tail[size:]))
	refused("older amendments", pages, slices.Concat(tail[:size], old[1][size:]))
	refused("exchanged pages", two, one, three, tail)
	refused("a page twice", one, one, three, tail)
	refused("a page too few", one, two, tail)
	refused("a page too many", one, two, three, three, tail)
	refused("the tail alone", tail)
	refused("without the tail", pages)
	refused("the tail first", tail, pages)
	refused("the tail's page as a page", one, two, tail[:size], tail)
	refused("pages cut short", pages[:len(pages)-1], tail)
	refused("a tail cut short", pages, tail[:len(tail)-1])
	refused("a tail of another budget", pages, make([]byte, cpar.KeywordTailBytes(cpar.KeywordPageBytes(31))))
	for at := 0; at < len(tail); at += 97 {
		tail[at] ^= 1
		refused(fmt.Sprintf("byte %d of the tail altered", at), pages, tail)
		tail[at] ^= 1
	}
	for at := 0; at < len(pages); at += 997 {
		pages[at] ^= 4
		refused(fmt.Sprintf("byte %d of the pages altered", at), pages, tail)
		pages[at] ^= 4
	}
	other := *p
	for name, change := range map[string]func(){
		"another index":      func() { other.id[0]++ },
		"another generation": func() { other.at++ },
		"records more":       func() { other.lists = append(slices.Clone(p.lists), make([][]string, 24)...) },
		"records fewer":      func() { other.lists = p.lists[:767] },
	} {
		other = *p
		change()
		if _, err := other.open(p.segments); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Pages of an earlier epoch with the same words and numbers.
	for i := range 768 {
		p.lists[i] = p.draw(rng, 4)
	}
	p.write().check()
	if p.table.epoch != p.at || len(p.segments[0]) != len(old[0]) {
		t.Fatalf("epoch %d in generation %d, pages of other lengths", p.table.epoch, p.at)
	}
	refused("pages of an older epoch", old[0], p.segments[1])
}

// TestDamagedPages covers damage that only a holder of the key could cause.
func TestDamagedPages(t *testing.T) {
	p := begin(t, rand.New(rand.NewPCG(5, 17)), 600, 2)
	p.lists[3], p.lists[4] = []string{"word 0001"}, []string{"word 0002", "word 0003"}
	p.write()
	size := int(p.table.PageBytes())
	for name, spoil := range map[string]func(page []byte){
		"a keyword too many":           func(b []byte) { b[0] = Max + 1 },
		"a word that is not there":     func(b []byte) { b[0] = 1; b[pageRecords+1] = 0xff },
		"padding":                      func(b []byte) { b[len(b)-1] = 1 },
		"keywords of nobody":           func(b []byte) { b[pageRecords-1] = 1 },
		"more than there is room for":  func(b []byte) { copy(b, bytes.Repeat([]byte{Max}, 88)) },
		"a keyword without its number": func(b []byte) { b[87]++; b[len(b)-1] = 7 },
	} {
		b := p.table.plainPage(2) // the tail's, of 88 records
		spoil(b)
		if err := new(lists).readPage(b, 88, 500); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("a page with %s: %v", name, err)
		}
	}
	for name, spoil := range map[string]func(b []byte){
		"an amendment too many":    func(b []byte) { b[8]++ },
		"of a record in the tail":  func(b []byte) { b[18] = 2 }, // 2·256 and more
		"out of order":             func(b []byte) { b[17] = 3 },
		"a keyword too many":       func(b []byte) { b[14] = Max + 1 },
		"a word that is not there": func(b []byte) { b[16] = 0xff },
		"padding":                  func(b []byte) { b[len(b)-1] = 1 },
	} {
		b := p.table.plainAmendments()
		spoil(b)
		if err := (&Table{dict: p.table.dict}).readAmendments(b, 512); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("amendments, %s: %v", name, err)
		}
	}
	if len(p.table.plainPage(0)) != size-28 || len(p.table.plainAmendments()) != cpar.KeywordAmendmentBytes-28 {
		t.Error("other lengths than FORMAT.md has")
	}
}

// TestPagesAreHedged repeats the random numbers. Generations that differ in a
// word or a number share only the pages that stay.
func TestPagesAreHedged(t *testing.T) {
	p := begin(t, rand.New(rand.NewPCG(6, 17)), 300, 4)
	fork := func(generation uint64, change func(lists [][]string)) []byte {
		t.Helper()
		lists := append(slices.Clone(p.lists), make([][]string, 240)...) // fills another page
		change(lists)
		c := p.cipher()
		table, err := c.Next(p.table, lists, func(int) bool { return false }, generation)
		if err != nil {
			t.Fatal(err)
		}
		keep, segments := c.Segments(table, p.table, seed.NewSource(seed.Secret{4}, stuck{}), generation, 1<<20)
		if keep != 1 || len(segments) != 2 {
			t.Fatalf("%d segments are kept, %d new", keep, len(segments))
		}
		return slices.Concat(segments...)
	}
	same := func(lists [][]string) { lists[299] = nil }
	first := fork(2, same)
	if !bytes.Equal(first, fork(2, same)) {
		t.Error("the random numbers do not repeat: this test tests nothing")
	}
	for name, other := range map[string][]byte{
		"another word":            fork(2, func(lists [][]string) { lists[299] = []string{"word 0001"} }),
		"another amendment":       fork(2, func(lists [][]string) { same(lists); lists[0] = []string{"word 0001", "word 0002"} }),
		"another generation":      fork(3, same),
		"the state that was left": p.segments[1],
	} {
		seen := map[[12]byte]bool{}
		for at := 0; at+12 <= len(first); at++ {
			seen[[12]byte(first[at:])] = true
		}
		for at := 0; at+12 <= len(other); at++ {
			if seen[[12]byte(other[at:])] {
				t.Errorf("%s: 12 bytes in common, at %d", name, at)
				break
			}
		}
	}
}

// FuzzPage decodes decrypted pages and amendments.
func FuzzPage(f *testing.F) {
	d, err := FromWords(someWords(300))
	if err != nil {
		f.Fatal(err)
	}
	table, err := newTable(d, slices.Repeat([][]string{{"word 0007", "word 0299"}, nil, {"word 0001"}}, 150), 5, 0)
	if err != nil {
		f.Fatal(err)
	}
	table.amended = map[int][]uint16{3: {1}, 7: nil, 200: {299, 5}}
	f.Add(table.plainPage(0), uint16(256))
	f.Add(table.plainPage(1), uint16(194))
	f.Add(table.plainAmendments(), uint16(256))
	f.Fuzz(func(t *testing.T, data []byte, records uint16) {
		var l lists
		if err := l.readPage(data, int(min(records, 256)), 300); err == nil {
			again := (&Table{budget: 1 + len(data)/(2*pageRecords), lists: l}).plainPage(0)
			if !bytes.Equal(bytes.TrimRight(data, "\x00"), bytes.TrimRight(again, "\x00")) {
				t.Error("a page that was read is written differently")
			}
		} else if !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v wraps none of our errors", err)
		}
		a := Table{dict: d}
		if err := a.readAmendments(data, int(records)); err == nil {
			if again := a.plainAmendments(); len(data) == amendmentSize && !bytes.Equal(again, data) {
				t.Error("amendments that were read are written differently")
			}
		} else if !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v wraps none of our errors", err)
		}
	})
}

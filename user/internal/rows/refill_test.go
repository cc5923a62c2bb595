package rows_test

import (
	"cmp"
	"cpar/model/feature"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/rows"
)

// model is the plaintext content of a generation in order.
type model struct {
	twin    *rows.Twin // of the first generation, for requests
	photos  []feature.Photo
	rows    *rows.Rows
	removed map[int]bool
}

func (m *model) add(s *state, photos []feature.Photo) {
	s.t.Helper()
	var vectors []*vector.Vector
	for _, p := range photos {
		vectors = append(vectors, s.vector(p))
	}
	added, _, err := s.RowsOf(vectors)
	if err != nil {
		s.t.Fatal(err)
	}
	m.photos = append(m.photos, photos...)
	m.rows.Append(added)
}

// near returns all live records, nearest first.
func (m *model) near(s *state, photo feature.Photo) (list []rank.Neighbour) {
	s.t.Helper()
	v := s.vector(photo)
	u, err := m.twin.Request(v)
	if err != nil {
		s.t.Fatal(err)
	}
	scores := m.rows.Scores(u, 1)
	for i, score := range scores {
		dis, err := m.twin.Dis(v, score)
		if err != nil {
			s.t.Fatal(err)
		}
		if !m.removed[i] {
			list = append(list, rank.Neighbour{Record: uint32(i), Dis: dis, Keywords: m.photos[i].Keywords})
		}
	}
	slices.SortStableFunc(list, func(a, b rank.Neighbour) int { return cmp.Compare(scores[a.Record], scores[b.Record]) })
	return list
}

// TestAnyUpdatesAnswerAsTheModel compares updates of various sizes with the
// model. They must take no more units than a single addition. clustered is the
// number of records in cells. A request covers one cell.
func TestAnyUpdatesAnswerAsTheModel(t *testing.T) {
	for _, c := range []struct {
		scheme          cpar.Scheme
		kind            profile.Kind
		perUnit         int
		first, clusters int
	}{{cpar.SchemeSealed, profile.Paper, 16, 1, 0}, {cpar.SchemeLocal, profile.Paper, 32, 1, 0}, {cpar.SchemeSealed, profile.Network, 64, 70, 4}} {
		photos := syntheticphotos.Embedded(300, 2)
		for _, p := range photos { // the dictionary stays as in the first generation
			for _, w := range p.Keywords {
				if !slices.Contains(photos[0].Keywords, w) {
					photos[0].Keywords = append(photos[0].Keywords, w)
				}
			}
		}
		s, b, _ := beginWith(t, c.scheme, c.kind, photos[:c.first], good, rows.Options{Cells: c.clusters})
		twin, err := b.Twin()
		if err != nil {
			t.Fatal(err)
		}
		m := &model{twin: twin.(*rows.Twin), rows: rows.New(int(s.at.Manifest().Dim)), removed: map[int]bool{}}
		m.add(s, photos[:c.first])
		s.held()
		clustered, unit := s.vectors(), uint64(0)
		if c.clusters == 0 {
			clustered, unit = nil, s.vectors()[0].Bytes
		}
		for round, change := range []struct {
			add    int
			remove []int
		}{{add: 1}, {add: 1}, {add: 1}, {add: 70}, {add: 1}, {remove: []int{0, 3}}, {add: 1, remove: []int{74}}, {add: 4}, {add: 1}, {add: 64}, {remove: []int{100}}, {add: 47}, {add: 1}} {
			before := s
			added := photos[len(m.photos):][:change.add]
			s = s.grown(added, change.remove).held()
			m.add(s, added)
			for _, i := range change.remove {
				m.removed[i] = true
			}
			name := fmt.Sprintf("%v, %d clusters, round %d", c.scheme, c.clusters, round)
			// Complete units stay, and an update that does not change them
			// writes none.
			kept, old := 0, before.of(cpar.SegmentVectors, cpar.SegmentHints)
			for _, x := range old {
				if slices.Contains(s.of(x.Kind), x) {
					kept++
				}
			}
			open, each := before.Records, 1
			if c.scheme == cpar.SchemeSealed {
				each = 2
			}
			if c.clusters > 0 {
				open -= c.first
			}
			if refilled := change.add > 0 && open%c.perUnit > 0; refilled && kept != len(old)-each || !refilled && kept != len(old) {
				t.Errorf("%s: %d of %d segments stay", name, kept, len(old))
			}
			if n := len(s.vectors()); each == 2 && len(s.of(cpar.SegmentHints)) != n {
				t.Errorf("%s: %d segments of hints for %d of vectors", name, len(s.of(cpar.SegmentHints)), n)
			}
			bytes := uint64(0)
			for _, x := range s.vectors()[len(clustered):] {
				bytes += x.Bytes
			}
			if open += change.add; unit == 0 {
				unit = bytes // of the first record outside cells
			}
			if units := uint64(open+c.perUnit-1) / uint64(c.perUnit); bytes != units*unit {
				t.Errorf("%s: %d bytes of vectors for %d units of %d", name, bytes, units, unit)
			}
			m.check(s, name, c.clusters > 0, c.first)
		}
		read := 0
		if err := s.DecryptAll(t.Context(), s.vectors(), s.read, func(record int, row []int16, addend int64, removed bool) {
			want, wantAddend := m.rows.At(record)
			if !slices.Equal(row, want) || addend != wantAddend || removed != m.removed[record] {
				t.Errorf("%v: record %d differs, removed %v", c.scheme, record, removed)
			}
			read++
		}); err != nil || read != len(m.photos) {
			t.Errorf("%v: %d of %d records, %v", c.scheme, read, len(m.photos), err)
		}
	}
}

// check requests all records of a generation. If clustered is set, some of the
// first records may be missing.
func (m *model) check(s *state, name string, clustered bool, first int) {
	s.t.Helper()
	for _, photo := range []feature.Photo{syntheticphotos.Embedded(1, 9)[0], m.photos[len(m.photos)-1]} {
		near, want := s.nearest(photo, 1000), m.near(s, photo)
		if clustered {
			want = slices.DeleteFunc(want, func(n rank.Neighbour) bool {
				return int(n.Record) < first && !slices.ContainsFunc(near, func(x rank.Neighbour) bool { return x.Record == n.Record })
			})
		}
		if fmt.Sprint(near) != fmt.Sprint(want) {
			s.t.Fatalf("%s: found are\n%v\nin the clear\n%v", name, near, want)
		}
	}
}

func TestForeignTailsAreRejected(t *testing.T) {
	for scheme := range kinds {
		s, _, _ := begin(t, scheme, profile.Paper, syntheticphotos.Photos(33, 1), good)
		s.held()
		v := s.vectors()
		full, err := s.read(v[0])
		if err != nil {
			t.Fatal(err)
		}
		tail, err := s.read(v[1])
		if err != nil {
			t.Fatal(err)
		}
		keywords, err := s.KeywordsOf()
		if err != nil {
			t.Fatal(err)
		}
		add := rows.New(int(s.at.Manifest().Dim))
		add.Add(make([]int16, s.at.Manifest().Dim), 0)
		x := *s.Index.Index
		x.Generation, x.Records = 2, 34
		for name, c := range map[string]struct {
			b   []byte
			err error
		}{"the full unit": {full, nil}, "both": {slices.Concat(full, tail), nil}, "nothing": {nil, nil}, "cut short": {tail[:len(tail)-1], nil}, "not to be read": {tail, cpar.ErrStorage}} {
			_, err := s.Next(t.Context(), &x, rows.Change{Add: add, Keywords: append(keywords, nil), Last: func() ([]byte, error) { return c.b, c.err }})
			if want := cmp.Or(c.err, cpar.ErrCorrupt); !errors.Is(err, want) {
				t.Errorf("%v, %s: %v", scheme, name, err)
			}
		}
		if _, err := s.Next(t.Context(), &x, rows.Change{Add: add, Keywords: append(keywords, nil), Last: func() ([]byte, error) { return tail, nil }}); err != nil {
			t.Errorf("%v: %v", scheme, err)
		}
	}
}

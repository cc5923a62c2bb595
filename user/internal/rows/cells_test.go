package rows_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/lattice"
	"cpar/internal/seed"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

func clusteredState(t testing.TB, n, clusters int) (*state, index.Twin) {
	t.Helper()
	s, b, _ := beginWith(t, cpar.SchemeSealed, profile.Network, syntheticphotos.Embedded(n, 1), good, rows.Options{Cells: clusters})
	twin, err := b.Twin()
	if err != nil {
		t.Fatal(err)
	}
	return s.held(), twin
}

func records(near []rank.Neighbour) (list []uint32) {
	for _, n := range near {
		list = append(list, n.Record)
	}
	return list
}

// TestCellsAnswerAsTheirTwin compares a request to one cell with the twin,
// and checks that no record is found twice.
func TestCellsAnswerAsTheirTwin(t *testing.T) {
	for _, clusters := range []int{1, 2, 8} {
		s, twin := clusteredState(t, 100, clusters)
		for _, photo := range syntheticphotos.Embedded(6, 5) {
			reading, q, err := s.Request(s.vector(photo), s.params(40))
			if err != nil {
				t.Fatal(err)
			}
			near, err := reading.Read(s.answer(q))
			if err != nil {
				t.Fatal(err)
			}
			want, err := twin.Search(reading, nil)
			if err != nil {
				t.Fatal(err)
			}
			asked := min(40, 100)
			if clusters > 1 {
				asked = min(40, lattice.CellSize(100, clusters, clusters == 4))
			}
			if len(near) != asked || len(want) != asked {
				t.Fatalf("%d clusters: %d records found, the twin %d, want %d", clusters, len(near), len(want), asked)
			}
			for i, hit := range want {
				if near[i].Record != hit.Record {
					t.Errorf("%d clusters: neighbour %d is record %d, the twin has %d", clusters, i, near[i].Record, hit.Record)
				}
			}
			if got := records(near); len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
				t.Errorf("%d clusters: a record twice: %v", clusters, got)
			}
		}
	}
}

func TestRequestsToCellsHaveOneLength(t *testing.T) {
	s, _ := clusteredState(t, 100, 4)
	lengths := map[[2]int]bool{}
	for _, photo := range syntheticphotos.Embedded(8, 5) {
		_, q := s.ask(photo)
		lengths[[2]int{len(q.Opaque), len(s.answer(q).Opaque)}] = true
	}
	if len(lengths) != 1 {
		t.Errorf("lengths of requests and replies: %v", lengths)
	}
	other, _ := clusteredState(t, 100, 4)
	for i, x := range s.at.Manifest().Segments {
		if y := other.at.Manifest().Segments[i]; x.Kind != y.Kind || x.Bytes != y.Bytes {
			t.Errorf("segments of the same number of photos: %v of %d bytes and %v of %d", x.Kind, x.Bytes, y.Kind, y.Bytes)
		}
	}
}

// TestUpdatesOfIndexesWithCells checks that additions are found from every cell,
// removed records are not, and DecryptAll reports every record once.
func TestUpdatesOfIndexesWithCells(t *testing.T) {
	s, _ := clusteredState(t, 60, 4)
	added := syntheticphotos.Embedded(5, 3)
	grown := s.grown(added, []int{7, 8}).held()
	if grown.at.Manifest().Segments[0] != s.at.Manifest().Segments[0] || !bytes.Equal(grown.at.Segment(cpar.SegmentCells), s.at.Segment(cpar.SegmentCells)) {
		t.Error("an addition writes the clusters again")
	}
	for i, photo := range added {
		if near := grown.nearest(photo, 65); near[0].Record != uint32(60+i) || near[0].Dis > 0.01 ||
			len(near) > 5+lattice.CellSize(60, 4, true) || slices.Contains(records(near), 7) || slices.Contains(records(near), 8) {
			t.Errorf("added photo %d: its nearest are %v", i, records(near))
		}
	}
	got, removed := map[int][]int16{}, []int{}
	if err := grown.DecryptAll(t.Context(), grown.vectors(), grown.read, func(record int, row []int16, _ int64, gone bool) {
		if got[record] != nil {
			t.Errorf("record %d twice", record)
		}
		got[record] = slices.Clone(row)
		if gone {
			removed = append(removed, record)
		}
	}); err != nil || len(got) != 65 || !slices.Equal(slices.Sorted(slices.Values(removed)), []int{7, 8}) {
		t.Errorf("%d records decrypted, %v removed, %v", len(got), removed, err)
	}
}

func TestDamagedCellsAreRefused(t *testing.T) {
	s, b, _ := beginWith(t, cpar.SchemeSealed, profile.Network, syntheticphotos.Embedded(40, 1), good, rows.Options{Cells: 4})
	if !s.Needs(cpar.SegmentCells) {
		t.Error("cells are not needed")
	}
	all := s.needed()
	cells := all[cpar.SegmentCells]
	all[cpar.SegmentCells] = [][]byte{append(bytes.Clone(cells[0][:len(cells[0])-1]), cells[0][len(cells[0])-1]^1)}
	if err := s.Hold(all); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("altered cells: %v", err)
	}
	delete(all, cpar.SegmentCells)
	if err := s.HoldSome(all); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Request(s.vector(syntheticphotos.Embedded(1, 2)[0]), s.params(5)); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a request without cells: %v", err)
	}
	if b.Clamped() > 0 {
		t.Errorf("%d photos were shortened", b.Clamped())
	}
}

// TestRequestsAskTheCellsOfTheIndex checks that every search asks the number of
// cells that the index has stored, and one if an earlier version built it.
func TestRequestsAskTheCellsOfTheIndex(t *testing.T) {
	s, _ := clusteredState(t, 100, 4)
	box, binding := aead.New(s.Secret("cells")), append([]byte("cpar/v1/cells"), s.ID[:]...)
	plain, err := box.Open(s.at.Segment(cpar.SegmentCells), binding)
	if err != nil {
		t.Fatal(err)
	}
	cut := len(plain) - 4
	if stored := int(binary.LittleEndian.Uint32(plain[cut:])); stored != s.Asked() || stored < 1 || stored > 4 {
		t.Errorf("the segment has %d, and the index asks %d cells", stored, s.Asked())
	}
	for stored, want := range map[string]int{"": 1, "\x01\x00\x00\x00": 1, "\x03\x00\x00\x00": 3, "\x04\x00\x00\x00": 4, "\x00\x00\x00\x00": 0, "\x05\x00\x00\x00": 0, "\x01": 0} {
		sealed := box.Seal(nil, seed.New(seed.Secret{1}), append(slices.Clone(plain[:cut]), stored...), binding)
		err := s.HoldSome(map[cpar.SegmentKind][][]byte{cpar.SegmentCells: {sealed}})
		if want == 0 {
			if !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%q: %v", stored, err)
			}
			continue
		}
		v := s.vector(syntheticphotos.Embedded(1, 5)[0])
		readers, requests, e := s.Requests(v, s.params(10), false)
		if err != nil || e != nil || s.Asked() != want || len(requests) != want || len(readers) != want {
			t.Errorf("%q: %d requests, %v, %v", stored, len(requests), err, e)
		}
		for i, q := range requests {
			if near, err := readers[i].Read(s.answer(q)); err != nil || len(near) != 10 {
				t.Errorf("%q: request %d finds %d records, %v", stored, i, len(near), err)
			}
		}
	}
}

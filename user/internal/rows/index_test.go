package rows_test

import (
	"bytes"
	"context"
	"cpar/model/feature"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/testing/syntheticphotos"
	"cpar/internal/wire"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user/internal/fixtures"
	"cpar/user/internal/rows"
)

// TestNeighboursAreTheTwins compares distances with the twin for one record,
// full and incomplete units, identical photos, and both kinds of vectors.
func TestNeighboursAreTheTwins(t *testing.T) {
	alike := slices.Repeat(syntheticphotos.Photos(1, 1), 40)
	for scheme := range kinds {
		for name, c := range map[string]struct {
			kind   profile.Kind
			photos []feature.Photo
		}{
			"one":         {profile.Paper, syntheticphotos.Photos(1, 1)},
			"a full unit": {profile.Paper, syntheticphotos.Photos(32, 1)},
			"one more":    {profile.Paper, syntheticphotos.Photos(33, 1)},
			"alike":       {profile.Paper, alike},
			"learnt":      {profile.Learned, syntheticphotos.Photos(50, 1)},
		} {
			s, b, _ := begin(t, scheme, c.kind, c.photos, good)
			s.held()
			twin, err := b.Twin()
			if err != nil {
				t.Fatal(err)
			}
			for _, photo := range append(syntheticphotos.Photos(4, 9), c.photos[0]) {
				v := s.vector(photo)
				scores, err := twin.(*rows.Twin).Scores(v)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range []int{10, 1000} {
					reading, q, err := s.Request(v, s.params(l))
					if err != nil {
						t.Fatal(err)
					}
					near, err := reading.Read(s.answer(q))
					if err != nil {
						t.Fatal(err)
					}
					hits, err := twin.Search(reading, nil)
					if err != nil || len(near) != len(hits) || len(hits) != min(l, len(c.photos)) {
						t.Fatalf("%v, %s: %d neighbours, the twin has %d, %v", scheme, name, len(near), len(hits), err)
					}
					for i, n := range near {
						dis, err := twin.(*rows.Twin).Dis(v, scores[n.Record])
						want := rank.Neighbour{Record: hits[i].Record, Dis: dis, Keywords: c.photos[n.Record].Keywords}
						if err != nil || fmt.Sprint(n) != fmt.Sprint(want) || hits[i].Score != scores[n.Record] {
							t.Fatalf("%v, %s: neighbour %d is %+v, the twin has %+v", scheme, name, i, n, want)
						}
					}
				}
			}
		}
	}
}

func TestTwinsRowsAreTheRecords(t *testing.T) {
	for scheme := range kinds {
		s, b, _ := begin(t, scheme, profile.Paper, syntheticphotos.Photos(35, 1), good)
		twin, err := b.Twin()
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		if err := s.DecryptAll(t.Context(), s.vectors(), s.read, func(record int, row []int16, addend int64, removed bool) {
			want, wantAddend := twin.(*rows.Twin).Row(record)
			if record != read || removed || addend != wantAddend || !slices.Equal(row, want) {
				t.Errorf("%v: record %d was encrypted as another row", scheme, record)
			}
			read++
		}); err != nil || read != 35 {
			t.Errorf("%v: %d records, %v", scheme, read, err)
		}
		v := s.vector(syntheticphotos.Photos(1, 9)[0])
		u, err := twin.(*rows.Twin).Request(v)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := twin.(*rows.Twin).Scores(v)
		if err != nil {
			t.Fatal(err)
		}
		for i, score := range scores {
			row, addend := twin.(*rows.Twin).Row(i)
			for j, x := range row {
				addend += int64(x) * int64(u[j])
			}
			if addend != score {
				t.Errorf("%v: record %d scores %d, by the formula %d", scheme, i, score, addend)
			}
		}
	}
}

// TestIndexGrows checks additions, removals and the rebuild. A photo is near
// itself, because rounding the histogram in coarse steps adds at most a tenth.
func TestIndexGrows(t *testing.T) {
	for scheme := range kinds {
		itself := map[cpar.Scheme]float64{cpar.SchemeLocal: 0.025, cpar.SchemeSealed: 0.1}[scheme]
		first, second := syntheticphotos.Photos(35, 1), syntheticphotos.Photos(3, 2)
		s, _, _ := begin(t, scheme, profile.Paper, first, good)
		before := s.vectors()
		s = s.held().grown(second, []int{4, 34}).held()
		if s.Live() != 36 || s.Records != 38 || s.Generation != 2 {
			t.Errorf("%v: %d of %d records in generation %d", scheme, s.Live(), s.Records, s.Generation)
		}
		if after := s.vectors(); len(before) != 2 || len(after) != 2 || after[0] != before[0] || after[1] == before[1] || after[1].Bytes != before[1].Bytes {
			t.Errorf("%v: vectors other than the last were written: %v, %v", scheme, before, after)
		}
		all := slices.Concat(first, second)
		near := s.nearest(syntheticphotos.Photos(1, 77)[0], 1000)
		if len(near) != 36 {
			t.Errorf("%v: %d records are found", scheme, len(near))
		}
		for _, n := range near {
			if n.Record == 4 || n.Record == 34 || !slices.Equal(n.Keywords, all[n.Record].Keywords) {
				t.Errorf("%v: found %+v", scheme, n)
			}
		}
		for i, photo := range all {
			n := s.nearest(photo, 1)[0]
			if there := i != 4 && i != 34; (int(n.Record) == i) != there || there && n.Dis > itself {
				t.Errorf("%v: photo %d is found as %+v", scheme, i, n)
			}
		}
		keywords, err := s.KeywordsOf()
		if err != nil || len(keywords) != 38 || len(keywords[4]) != 0 || len(keywords[34]) != 0 || !slices.Equal(keywords[37], second[2].Keywords) {
			t.Errorf("%v: keywords %v, %v", scheme, keywords, err)
		}

		// Rebuilt with another id and order.
		kept, order, words := rows.New(int(s.at.Manifest().Dim)), []int{}, [][]string{}
		if err := s.DecryptAll(t.Context(), s.vectors(), s.read, func(record int, row []int16, addend int64, removed bool) {
			if removed != (record == 4 || record == 34) {
				t.Errorf("%v: record %d is removed: %v", scheme, record, removed)
			}
			if !removed {
				kept.Add(row, addend)
				order, words = append([]int{kept.Len() - 1}, order...), append([][]string{keywords[record]}, words...)
			}
		}); err != nil {
			t.Fatal(err)
		}
		x := *s.Index.Index
		x.ID, x.Records, x.Generation = cpar.IndexID{4, 5, 6}, kept.Len(), 3
		x.Keywords = newCipher(t, &x, words)
		b, err := s.Rebuild(&x, kept, order, words)
		if err != nil {
			t.Fatal(err)
		}
		anew := (&state{kind: s.kind, folder: fixtures.Folder(t), t: t}).after(&x, b).held()
		if anew.Live() != 36 || anew.Records != 36 {
			t.Errorf("%v: rebuilt, there are %d of %d records", scheme, anew.Live(), anew.Records)
		}
		if n := anew.nearest(second[2], 1)[0]; n.Record != 0 || n.Dis > itself || !slices.Equal(n.Keywords, second[2].Keywords) {
			t.Errorf("%v: rebuilt, the last photo is found as %+v", scheme, n)
		}
	}
}

// TestStateIsKept checks the round trip and rejects truncation and removals of
// records beyond the last.
func TestStateIsKept(t *testing.T) {
	for scheme, kind := range kinds {
		s, _, _ := begin(t, scheme, profile.Paper, syntheticphotos.Photos(11, 1), good)
		s = s.held().grown(nil, []int{10})
		enc, err := s.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		open := func(b []byte) (*rows.Index, error) {
			r := wire.NewReader(b, cpar.ErrCorrupt)
			x, err := kind.Open(s.Index.Index, r)
			if err == nil {
				err = r.Close()
			}
			return x, err
		}
		again, err := open(enc)
		if err != nil || again.Live() != 10 {
			t.Fatalf("%v: %v", scheme, err)
		}
		if b, err := again.AppendBinary(nil); err != nil || !bytes.Equal(b, enc) {
			t.Errorf("%v: read, then written differently: %v", scheme, err)
		}
		for cut := 0; cut < len(enc); cut += 1 + len(enc)/97 {
			if _, err := open(enc[:cut]); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v cut to %d of %d bytes: %v", scheme, cut, len(enc), err)
			}
		}
		if _, err := open(append(bytes.Clone(enc), 0)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v with a byte more: %v", scheme, err)
		}
		enc[1] |= 1 << 3 // record 11 of 11
		if _, err := open(enc); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v with a record removed that is not there: %v", scheme, err)
		}
	}
}

func TestHoldRejectsDamagedSegments(t *testing.T) {
	for scheme := range kinds {
		s, _, _ := begin(t, scheme, profile.Paper, syntheticphotos.Photos(40, 1), good)
		refused := func(what string) {
			t.Helper()
			if _, _, err := s.Request(s.vector(syntheticphotos.Photos(1, 9)[0]), s.params(3)); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
				t.Errorf("%v, %s: a request: %v", scheme, what, err)
			}
		}
		refused("at first")
		if _, err := s.KeywordsOf(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: keywords before Hold: %v", scheme, err)
		}
		for kind, list := range s.needed() {
			if kind == cpar.SegmentKeywords {
				continue // blocks are checked when read
			}
			for name, spoiled := range map[string][]byte{
				"empty": {}, "cut short": list[0][:len(list[0])-1], "half of it": list[0][:len(list[0])/2],
				"longer": append(bytes.Clone(list[0]), 0), "altered": altered(list[0]),
			} {
				if kind == cpar.SegmentHints && name == "altered" {
					continue // they are public, and package user checks their digests
				}
				bad := s.needed()
				bad[kind][0] = spoiled
				if err := s.Hold(bad); !errors.Is(err, cpar.ErrCorrupt) {
					t.Errorf("%v: %v, %s: %v", scheme, kind, name, err)
				}
			}
		}
		for kind := range s.needed() {
			s, _, _ = begin(t, scheme, profile.Paper, syntheticphotos.Photos(40, 1), good)
			some := s.needed()
			delete(some, kind)
			if err := s.HoldSome(some); err != nil {
				t.Fatal(err)
			}
			refused(fmt.Sprint("without ", kind))
		}
		// Segments with fewer records are not enough.
		old := s.needed()
		s = s.held().grown(syntheticphotos.Photos(2, 5), nil)
		if err := s.Hold(old); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v: data held from the earlier state: %v", scheme, err)
		}
		refused("with data held from the earlier state")
		s.held()
		s.nearest(syntheticphotos.Photos(1, 9)[0], 3)
	}
}

func altered(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)/2] ^= 1
	return b
}

// TestDecryptAllRejectsForeignRecords rejects vectors that were swapped,
// omitted, or taken from another fork.
func TestDecryptAllRejectsForeignRecords(t *testing.T) {
	for scheme := range kinds {
		s, _, _ := begin(t, scheme, profile.Paper, syntheticphotos.Photos(40, 1), good)
		base := s.held().fork()
		s = s.grown(syntheticphotos.Photos(2, 5), nil)
		other := base.grown(syntheticphotos.Photos(2, 6), nil)
		each := func(segments []cpar.Segment, read func(cpar.Segment) ([]byte, error)) error {
			return s.DecryptAll(t.Context(), segments, read, func(int, []int16, int64, bool) {})
		}
		v := s.vectors()
		if err := each(v, s.read); err != nil {
			t.Errorf("%v: %v", scheme, err)
		}
		for name, segments := range map[string][]cpar.Segment{
			"swapped": {v[1], v[0]}, "one left out": {v[0]}, "the other left out": {v[1]}, "one twice": {v[0], v[1], v[1]}, "none": nil,
		} {
			if err := each(segments, s.read); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v, %s: %v", scheme, name, err)
			}
		}
		for at := range 2 {
			if err := each(v, func(x cpar.Segment) ([]byte, error) {
				b, err := s.read(x)
				if x == v[at] {
					b = altered(b)
				}
				return b, err
			}); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v: segment %d altered: %v", scheme, at, err)
			}
		}
		// A block of scheme local is authentic in either fork. The ledger's
		// digest of the manifest distinguishes them.
		if err := each(other.vectors(), other.read); scheme == cpar.SchemeSealed && !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%v: vectors of another fork: %v", scheme, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := s.DecryptAll(ctx, v, s.read, func(int, []int16, int64, bool) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: stopped: %v", scheme, err)
		}
	}
}

// TestBytesPredictsTheSize covers record counts around a unit.
func TestBytesPredictsTheSize(t *testing.T) {
	for scheme, kind := range kinds {
		for _, n := range []int{1, 32, 33, 70} {
			s, _, _ := begin(t, scheme, profile.Paper, syntheticphotos.Photos(n, 1), good)
			kept, err := s.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			want := uint64(len(kept))
			for i, x := range s.at.Manifest().Segments {
				if slices.Contains([]cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentParams, cpar.SegmentHints}, x.Kind) {
					want += uint64(len(s.at.Segments()[i]))
				}
			}
			if got, err := kind.Bytes(s.Profile.Layout(), n); err != nil || got != want {
				t.Errorf("%v, %d records: %d bytes predicted, %d written; %v", scheme, n, got, want, err)
			}
		}
	}
}

// TestReplyCanBeReadTwice checks that a reply can be read again after the caller modified
// the result.
func TestReplyCanBeReadTwice(t *testing.T) {
	for scheme := range kinds {
		s, _, _ := begin(t, scheme, profile.Paper, syntheticphotos.Photos(20, 1), good)
		reading, q := s.held().ask(syntheticphotos.Photos(1, 9)[0])
		reply := s.answer(q)
		first, err := reading.Read(reply)
		if err != nil || len(first) != 5 {
			t.Fatalf("%v: %v, %v", scheme, first, err)
		}
		want := fmt.Sprint(first)
		first[0] = rank.Neighbour{}
		if again, err := reading.Read(reply); err != nil || fmt.Sprint(again) != want {
			t.Errorf("%v: read again: %v, %v; want %s", scheme, again, err, want)
		}
	}
}

func TestTwinKnowsItsOwnRequests(t *testing.T) {
	_, b, _ := begin(t, cpar.SchemeLocal, profile.Paper, syntheticphotos.Photos(3, 1), good)
	twin, err := b.Twin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := twin.Search(nil, nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a request of another scheme: %v", err)
	}
}

package rows_test

import (
	"bytes"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/profile"
	"cpar/user/internal/fixtures"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
)

func newCipher(t *testing.T, x *index.Index, keywords [][]string) *keyword.Cipher {
	t.Helper()
	d, err := keyword.NewDictionary(keywords)
	if err != nil {
		t.Fatal(err)
	}
	return keyword.NewCipher(x.Secret("keywords"), x.ID, d)
}

// shared reports whether 12 aligned bytes of a, a nonce's length, occur aligned
// in b. It ignores message headers and small numbers.
func shared(a, b []byte) bool {
	seen := map[string]bool{}
	for at := 0; at+12 <= len(a); at += 4 {
		seen[string(a[at:at+12])] = true
	}
	for at := 0; at+12 <= len(b); at += 4 {
		run := b[at : at+12]
		header := bytes.Contains(run, []byte("CPAR")) || bytes.Contains(run, fixtures.ID[:4]) || bytes.Contains(run, make([]byte, 6))
		if seen[string(run)] && !header {
			return true
		}
	}
	return false
}

// TestStatesAreHedged repeats the random numbers. Two generations must share no
// ciphertext, whether their photos differ or not.
func TestStatesAreHedged(t *testing.T) {
	for scheme := range kinds {
		photos := syntheticphotos.Photos(35, 1)
		photos[34].Keywords = nil // removing it changes no keyword
		begun, _, _ := begin(t, scheme, profile.Paper, photos, syntheticphotos.Stuck{})
		begun.held()
		one, other := syntheticphotos.Photos(2, 5), syntheticphotos.Photos(2, 6)
		other[1].Keywords = other[0].Keywords
		fork := func(change func(s *state) *state) *state { return change(begun.fork()).held() }

		a := fork(func(s *state) *state { return s.grown(one, nil) })
		same := fork(func(s *state) *state { return s.grown(one, nil) })
		last := func(s *state, kind cpar.SegmentKind) []byte {
			v := s.of(kind)
			b, err := s.read(v[len(v)-1])
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		if !bytes.Equal(last(a, cpar.SegmentVectors), last(same, cpar.SegmentVectors)) {
			t.Errorf("%v: the random numbers do not repeat: this test tests nothing", scheme)
		}
		b := fork(func(s *state) *state { return s.grown(other, nil) })
		later := fork(func(s *state) *state { return s.grown(nil, []int{34}).held().grown(one, nil) })
		for name, s := range map[string]*state{"other photos": b, "the same in another generation": later} {
			for _, kind := range []cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentKeywords, cpar.SegmentHints} {
				if len(s.of(kind)) > 0 && shared(last(a, kind), last(s, kind)) {
					t.Errorf("%v, %s: %v in common", scheme, name, kind)
				}
			}
		}
		// Only the generation changed, so vectors and hints stay.
		removed := fork(func(s *state) *state { return s.grown(nil, []int{34}) })
		if shared(last(begun, cpar.SegmentKeywords), last(removed, cpar.SegmentKeywords)) {
			t.Errorf("%v: keywords of two generations in common", scheme)
		}
		if stay := begun.of(cpar.SegmentVectors, cpar.SegmentHints); !slices.Equal(stay, removed.of(cpar.SegmentVectors, cpar.SegmentHints)) {
			t.Errorf("%v: a removal wrote vectors or hints", scheme)
		}
	}
}

// TestBlocksOfOneStateAreHedged does the same for equal parts of one
// generation.
func TestBlocksOfOneStateAreHedged(t *testing.T) {
	for scheme := range kinds {
		s, _, _ := begin(t, scheme, profile.Paper, slices.Repeat(syntheticphotos.Photos(1, 1), 600), syntheticphotos.Stuck{})
		b, err := s.read(s.vectors()[0])
		if err != nil {
			t.Fatal(err)
		}
		units := (600 + 31) / 32
		size := len(b) / units
		for i := range units {
			for j := range i {
				// All of a unit except its header, which is the nonce in scheme
				// local.
				if shared(b[i*size:(i+1)*size], b[j*size:(j+1)*size]) {
					t.Fatalf("%v: units %d and %d have 12 bytes in common", scheme, j, i)
				}
			}
		}
	}
}

func TestRequestsAreHedged(t *testing.T) {
	s, _, _ := begin(t, cpar.SchemeSealed, profile.Paper, syntheticphotos.Photos(20, 1), syntheticphotos.Stuck{})
	s.held()
	_, a := s.ask(syntheticphotos.Photos(1, 9)[0])
	_, same := s.ask(syntheticphotos.Photos(1, 9)[0])
	_, b := s.ask(syntheticphotos.Photos(1, 8)[0])
	if !bytes.Equal(a.Opaque, same.Opaque) {
		t.Error("the random numbers do not repeat: this test tests nothing")
	}
	if shared(a.Opaque, b.Opaque) {
		t.Error("requests for two photos have 12 bytes in common")
	}
}

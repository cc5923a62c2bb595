package cost

import (
	"math"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/model/profile"
	"cpar/user"
)

func TestLocalMovesLessFromTheCrossing(t *testing.T) {
	h := TransferSizes{Profile: 1e6, Request: 98344, Reply: 3.375, Sealed: 228.4, Local: 293}
	for _, n := range []int{10, 1000, 10000, 123456, 1000000} {
		sealed, local, each := h.once(n)
		k := float64(h.Crossing(n))
		if local >= sealed+k*each || k > 0 && local < sealed+(k-1)*each {
			t.Errorf("%d records: with %g requests sealed moves %.0f bytes, with one fewer %.0f; local %.0f", n, k, sealed+k*each, sealed+(k-1)*each, local)
		}
	}
	h.Local = h.Sealed / 2
	if got := h.Crossing(1000); got != 0 {
		t.Errorf("local moves fewer bytes from the start, but Crossing returns %d", got)
	}
	for _, r := range h.Rows() {
		if r.Sealed < r.SealedStored || r.Local != r.LocalStored {
			t.Errorf("%+v", r)
		}
	}
}

// An index consists of profile, blocks and keywords.
func TestLocalIndexHasPredictedSize(t *testing.T) {
	c := measuretest.Learnable(160, 1)
	s, _, err := measure.OpenSealed(t.Context(), c.Train, user.Options{Scheme: cpar.SchemeLocal, Profile: profile.Network})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var vectors, keywords uint64
	for _, segment := range s.Manifest.Segments {
		switch segment.Kind {
		case cpar.SegmentVectors:
			vectors += segment.Bytes
		case cpar.SegmentKeywords:
			keywords += segment.Bytes
		}
	}
	if got, want := LocalVectorBytes(int(s.Manifest.Dim)), float64(vectors)/160; math.Abs(got-want) > 1e-9 || vectors == 0 {
		t.Errorf("%g bytes a vector of %d coordinates, it takes %g", got, s.Manifest.Dim, want)
	}
	if keywords != cpar.KeywordTailBytes(cpar.KeywordPageBytes(8)) { // no page is full
		t.Errorf("%d bytes of keywords", keywords)
	}
}

package cparhttp

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/wire"
)

func TestAnnotateBatch(t *testing.T) {
	requests := []*cpar.Request{request(3), request(2)}
	good := wire.AppendBatch(nil, [][]byte{encoded(t, reply(3)), encoded(t, reply(1))})
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := "/v1/indexes/" + requests[0].Index.String() + "/annotate-batch"; r.URL.Path != want {
			t.Errorf("requested %s, want %s", r.URL.Path, want)
		}
		answers(TypeBinary, good)(w, r)
	}))
	replies, stats, err := c.AnnotateBatch(t.Context(), requests)
	if err != nil || len(replies) != 2 || len(replies[0].Matches) != 3 || len(replies[1].Matches) != 1 {
		t.Fatalf("%v, %v", replies, err)
	}
	if want := (Stats{len(encoded(t, requests[1])), len(encoded(t, reply(1)))}); stats[1] != want {
		t.Errorf("stats %+v, want %+v", stats[1], want)
	}
	swapped, twice := reply(2), reply(2)
	swapped.Index[0]++
	twice.Matches[1].Record, twice.Matches[1].Score = 0, 1
	for name, c := range map[string]struct {
		answer []byte
		say    string
	}{
		"one reply too few":         {wire.AppendBatch(nil, [][]byte{encoded(t, reply(3))}), "1 replies"},
		"replies in another order":  {wire.AppendBatch(nil, [][]byte{encoded(t, reply(1)), encoded(t, reply(3))}), "reply 2"},
		"a reply for another index": {wire.AppendBatch(nil, [][]byte{encoded(t, reply(1)), encoded(t, swapped)}), "reply 2"},
		"one record twice":          {wire.AppendBatch(nil, [][]byte{encoded(t, twice), encoded(t, reply(1))}), "reply 1"},
		"garbage":                   {[]byte("garbage"), "reading batch"},
		"a garbled reply":           {wire.AppendBatch(nil, [][]byte{encoded(t, reply(1)), {1}}), "reply 2"},
	} {
		if _, _, err := client(t, answers(TypeBinary, c.answer)).AnnotateBatch(t.Context(), requests); !errors.Is(err, cpar.ErrCloud) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInvalidBatchIsNotSent(t *testing.T) {
	c := client(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the batch was sent") }))
	other, large, bad := request(1), request(1), request(1)
	other.Index[0]++
	large.Vector = make([]uint64, cpar.MaxRequestBytes/8)
	bad.Params.L = 0
	most := request(1)
	most.Vector = make([]uint64, cpar.MaxRequestBytes/8-100)
	for name, requests := range map[string][]*cpar.Request{
		"none":               nil,
		"too many":           make([]*cpar.Request, MaxBatch+1),
		"two indexes":        {request(1), other},
		"a large one":        {request(1), large},
		"a bad one":          {request(1), bad},
		"too large together": {most, most, most, most, most, most, most, most, most},
	} {
		if _, _, err := c.AnnotateBatch(t.Context(), requests); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMissingBatchRouteIsNotFound(t *testing.T) {
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", TypeProblem)
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"code":"not_found","detail":"there is no such route"}`))
	}))
	if _, _, err := c.AnnotateBatch(t.Context(), []*cpar.Request{request(1)}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestSealedReplies(t *testing.T) {
	id := cpar.IndexID{1}
	sealed := func(kind byte, n int) []byte {
		b := append([]byte{'C', 'P', 'A', 'R', kind, 0, cpar.SealedVersion, 0}, id[:]...)
		return append(b, make([]byte, n)...)
	}
	q := &cpar.Request{Index: id, Params: cpar.Params{Scheme: cpar.SchemeSealed, L: 1, Approx: 1000}, Opaque: sealed('q', 400_000)}
	m := &cpar.Manifest{Scheme: cpar.SchemeSealed, ID: id, Records: 20_000, Dim: 8, KeywordBytes: cpar.KeywordPageBytes(8)}
	page := uint64(m.KeywordBytes)
	for i, size := range []uint64{607_504, 20_000 / cpar.KeywordPageRecords * page, page + cpar.KeywordAmendmentBytes, 7, cpar.ParamsBytes, 5, 9, 28 + 20_000*cpar.IdentityBytes} {
		kind := []cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentKeywords, cpar.SegmentKeywords, cpar.SegmentLedger, cpar.SegmentParams, cpar.SegmentHints, cpar.SegmentProfile, cpar.SegmentIdentities}[i]
		m.Segments = append(m.Segments, cpar.Segment{Kind: kind, Bytes: size, Digest: cpar.Digest{byte(i)}})
	}
	manifest, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	fetched, answer := 0, sealed('a', 67_500)
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/manifest"):
			fetched++
			answers(TypeBinary, manifest)(w, r)
		case strings.HasSuffix(r.URL.Path, "-batch"):
			answers(TypeBinary, wire.AppendBatch(nil, [][]byte{answer, answer}))(w, r)
		default:
			answers(TypeBinary, answer)(w, r)
		}
	}))
	for range 2 {
		a, stats, err := c.Annotate(t.Context(), q)
		if err != nil || !bytes.Equal(a.Opaque, answer) || stats.Sent != len(q.Opaque) || stats.Received != len(answer) {
			t.Fatalf("%+v, %v", stats, err)
		}
	}
	if replies, _, err := c.AnnotateBatch(t.Context(), []*cpar.Request{q, q}); err != nil || !bytes.Equal(replies[1].Opaque, answer) {
		t.Errorf("batch: %v", err)
	}
	if fetched != 1 {
		t.Errorf("the manifest was fetched %d times", fetched)
	}
	for name, bad := range map[string][]byte{
		"longer than the index allows": sealed('a', 135_200),
		"reply of another scheme":      encoded(t, reply(1)),
		"of nothing":                   sealed('a', 0),
	} {
		answer = bad
		if _, _, err := c.Annotate(t.Context(), q); !errors.Is(err, cpar.ErrCloud) {
			t.Errorf("%s: %v", name, err)
		}
	}
	answer = sealed('a', 100)
	if _, _, err := c.Annotate(t.Context(), request(1)); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("a sealed reply to a scan: %v", err)
	}
}

package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"cpar"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/internal/hint"
)

func questions(t testing.TB) []*shardQuery {
	x := scanned(1, 1, 3)
	return []*shardQuery{
		{key: store.IndexRef{Index: x.m.ID}, version: cpar.Digest{3}},
		{key: store.IndexRef{Tenant: "0123456789abcdef", Index: x.m.ID}, version: cpar.Digest{4}, shard: shard.Range{First: 1, Last: 3}, requests: x.requests},
		{key: store.IndexRef{Index: x.m.ID}, version: cpar.Digest{5}, manifest: x.manifest(t)},
		{key: store.IndexRef{Index: x.m.ID}, version: cpar.Digest{5}, manifest: x.manifest(t), requests: x.requests[:1]},
	}
}

func encodedQuestion(t testing.TB, q *shardQuery) []byte {
	t.Helper()
	b, err := q.encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestShardQueriesRoundTrip(t *testing.T) {
	for i, q := range questions(t) {
		b := encodedQuestion(t, q)
		got, err := decodeShardQuery(b)
		if err != nil || !bytes.Equal(encodedQuestion(t, got), b) || got.key != q.key || got.version != q.version || got.shard != q.shard ||
			!bytes.Equal(got.manifest, q.manifest) || len(got.requests) != len(q.requests) {
			t.Errorf("question %d: %+v, %v", i, got, err)
		}
		for n := range b {
			cut, err := decodeShardQuery(b[:n])
			if err == nil && !(len(q.requests) > 0 && len(cut.requests) == 0 && bytes.Equal(encodedQuestion(t, cut), b[:n])) {
				t.Errorf("question %d, its first %d bytes of %d: %+v", i, n, len(b), cut)
			}
			if err != nil && !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("question %d, its first %d bytes: %v", i, n, err)
			}
		}
		b[0]++
		if _, err := decodeShardQuery(b); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("of another version: %v", err)
		}
	}
	for name, tenant := range map[string]string{"a path": "../../../../etc/x", "a wildcard": "*", "too long": "0123456789abcdef0"} {
		b := encodedQuestion(t, &shardQuery{key: store.IndexRef{Tenant: tenant}})
		if _, err := decodeShardQuery(b); err == nil {
			t.Errorf("a tenant that is %s is accepted", name)
		}
	}
}

func hostileLengths(b []byte) (out [][]byte) {
	for at := 0; at+4 <= len(b) && at < 200; at++ {
		for _, n := range []uint32{1<<32 - 1, 1 << 31, uint32(len(b))} {
			c := bytes.Clone(b)
			binary.LittleEndian.PutUint32(c[at:], n)
			out = append(out, c)
		}
	}
	return out
}

func TestHostileLengths(t *testing.T) {
	var all [][]byte
	for _, q := range questions(t) {
		all = append(all, encodedQuestion(t, q))
	}
	all = append(all, encodeAnswer([]*cpar.Reply{{Index: cpar.IndexID{1}}}, nil), encodeAnswer(nil, hint.Add(errors.New("text"), "advice")))
	for _, b := range all {
		for _, c := range hostileLengths(b) {
			bounded(t, len(c), func() {
				_, _ = decodeShardQuery(c)
				_, _ = decodeAnswer(c)
			})
		}
	}
}

// bounded fails if f allocates much more than a message of n bytes justifies.
func bounded(t *testing.T, n int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(1<<20+100*n) {
		t.Errorf("%d bytes of memory for a message of %d", took, n)
	}
}

func TestAnswersRoundTrip(t *testing.T) {
	replies := []*cpar.Reply{{Index: cpar.IndexID{1}, Visited: 4, Touched: 5, Matches: []cpar.Match{{Record: 1, Score: 2, Keywords: []byte("k")}}}, {Index: cpar.IndexID{1}, Visited: 1}}
	got, err := decodeAnswer(encodeAnswer(replies, nil))
	if err != nil || !bytes.Equal(encodeAnswer(got, nil), encodeAnswer(replies, nil)) || len(got) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for i, f := range faults {
		sent := hint.Add(fmt.Errorf("index 1: %w: %w: details", cpar.ErrCloud, f), "advice")
		replies, err := decodeAnswer(encodeAnswer(nil, sent))
		if replies != nil || !errors.Is(err, f) || !errors.Is(err, cpar.ErrCloud) || err.Error() != sent.Error() || hint.Of(err) != hint.Of(sent) {
			t.Errorf("%v becomes %v", sent, err)
		}
		for j, other := range faults {
			if errors.Is(sent, other) != errors.Is(err, other) {
				t.Errorf("fault %d becomes %d", i, j)
			}
		}
	}
	b := encodeAnswer(nil, hint.Add(errors.New("text"), "advice"))
	for n := range b {
		if replies, err := decodeAnswer(b[:n]); err == nil || replies != nil || !errors.Is(err, store.ErrAway) || errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("the first %d bytes of an error are %v, %v", n, replies, err)
		}
	}
	b = encodeAnswer(replies, nil)
	for n := range b {
		if some, err := decodeAnswer(b[:n]); err == nil && len(some) != 0 || errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("the first %d bytes of replies are %v, %v", n, some, err)
		}
	}
}

func FuzzQuestion(f *testing.F) {
	for _, q := range questions(f) {
		f.Add(encodedQuestion(f, q))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		bounded(t, len(b), func() {
			if q, err := decodeShardQuery(b); err == nil && !bytes.Equal(encodedQuestion(t, q), b) {
				t.Errorf("%x is read as %+v", b, q)
			}
		})
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add(encodeAnswer([]*cpar.Reply{{Index: cpar.IndexID{1}, Matches: []cpar.Match{{Keywords: []byte("k")}}}}, nil))
	f.Add(encodeAnswer([]*cpar.Reply{{Index: cpar.IndexID{1}, Opaque: []byte("sealed")}}, nil))
	f.Add(encodeAnswer(nil, hint.Add(fmt.Errorf("%w: text", store.ErrAway), "advice")))
	f.Fuzz(func(t *testing.T, b []byte) {
		bounded(t, len(b), func() {
			replies, err := decodeAnswer(b)
			if again, failed := decodeAnswer(encodeAnswer(replies, err)); !reflect.DeepEqual(again, replies) || (err == nil) != (failed == nil) ||
				err != nil && (err.Error() != failed.Error() || hint.Of(err) != hint.Of(failed)) {
				t.Errorf("%v, %v becomes %v, %v", replies, err, again, failed)
			}
		})
	})
}

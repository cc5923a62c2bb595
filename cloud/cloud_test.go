package cloud_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/store"
	"cpar/cloud/trace"
	"cpar/internal/indexdir"
	"cpar/internal/wire"
)

// pushed pushes an index of scheme capia in which record i has score i for
// request [1 0].
func pushed(t *testing.T, c *cloud.Cloud, n int) cpar.IndexID {
	t.Helper()
	m := &cpar.Manifest{Scheme: cpar.SchemeCAPIA, ID: cpar.IndexID{7}, Records: uint32(n), Dim: 2, KeywordBytes: 4}
	var rows, keywords []byte
	for i := range n {
		rows = wire.AppendWords(rows, []uint64{uint64(i), 5})
		keywords = fmt.Appendf(keywords, "%04d", i%10000)
	}
	half := n / 2 * 16
	kinds := []cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentVectors, cpar.SegmentKeywords, cpar.SegmentLedger, cpar.SegmentProfile}
	for i, b := range [][]byte{rows[:half], rows[half:], keywords, []byte("ledger"), []byte("profile")} {
		s := cpar.Segment{Kind: kinds[i], Bytes: uint64(len(b)), Digest: sha256.Sum256(b)}
		m.Segments = append(m.Segments, s)
		if err := c.PutSegment(context.Background(), store.IndexRef{Index: m.ID}, s.Digest, int64(len(b)), bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := m.MarshalBinary()
	if err == nil {
		err = c.PutManifest(context.Background(), store.IndexRef{Index: m.ID}, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

func TestCloud(t *testing.T) {
	for _, memory := range []indexdir.Memory{indexdir.MemoryMap, indexdir.MemoryHuge} {
		c, err := cloud.New(t.TempDir(), store.Options{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Workers = 3
		id := pushed(t, c, 2000)
		q := &cpar.Request{Index: id, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 3, Approx: 1000}, Vector: []uint64{1, 0}}
		back := &cpar.Request{Index: id, Params: q.Params, Vector: []uint64{1<<64 - 1, 0}}
		seen := new(trace.Request)
		replies, err := c.Annotate(seen.NewContext(t.Context()), store.IndexRef{Index: id}, []*cpar.Request{q, back, q})
		if err != nil {
			t.Fatal(err)
		}
		if o := seen.Outcome(); o.Visited != 3*2000 || o.Touched != 3*replies[0].Touched {
			t.Errorf("%v: %d records of 6000 and %d bytes are counted", memory, o.Visited, o.Touched)
		}
		one, err := annotate(t.Context(), c, store.IndexRef{Index: id}, back)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(context.Background(), store.IndexRef{Index: id}); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"0000 0001 0002", "1999 1998 1997", "0000 0001 0002", "1999 1998 1997"} {
			var got []string
			for _, m := range append(replies, one)[i].Matches {
				got = append(got, string(m.Keywords))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%v: reply %d holds %v, want %s", memory, i, got, want)
			}
		}
		if _, err := c.Annotate(t.Context(), store.IndexRef{Index: id}, []*cpar.Request{q}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a deleted index answers: %v", err)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := annotate(canceled, c, store.IndexRef{Index: id}, q); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
	}
}

// A worker's fault ends the request and not the process, and marks the index as
// damaged.
func TestWorkerFaultEndsOnlyTheRequest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated on this system")
	}
	data := t.TempDir()
	c, err := cloud.New(data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id := pushed(t, c, 200_000)
	q := &cpar.Request{Index: id, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 3, Approx: 1000}, Vector: []uint64{1, 0}}
	b, err := c.Manifest(context.Background(), store.IndexRef{Index: id})
	if err != nil {
		t.Fatal(err)
	}
	m, err := cpar.DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	path := indexdir.SegmentPath(filepath.Join(data, "indexes", id.String()), m.Segments[1].Digest)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	c.Workers = 2
	for range 2 {
		reply, err := annotate(t.Context(), c, store.IndexRef{Index: id}, q)
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("answered %v, %v", reply, err)
		}
	}
	if st := c.Stats(); st.Faults[store.FaultMap] != 1 || st.Damaged != 1 {
		t.Errorf("%+v", st)
	}
}

func annotate(ctx context.Context, c *cloud.Cloud, k store.IndexRef, q *cpar.Request) (*cpar.Reply, error) {
	replies, err := c.Annotate(ctx, k, []*cpar.Request{q})
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

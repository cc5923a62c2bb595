package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/api"
	"cpar/cparhttp"
	"cpar/internal/wire"
)

func TestBatch(t *testing.T) {
	c := start(t, api.Options{})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	var requests []*cpar.Request
	for l := range uint16(cparhttp.MaxBatch) {
		requests = append(requests, request(m.ID, l+1))
	}
	replies, stats, err := c.AnnotateBatch(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range replies {
		single, one, err := c.Annotate(t.Context(), requests[i])
		if err != nil || fmt.Sprint(r) != fmt.Sprint(single) || stats[i] != one {
			t.Errorf("reply %d: %v (%v), alone %v (%v), %v", i, r, stats[i], single, one, err)
		}
	}
}

func TestSealedBodiesFitLimits(t *testing.T) {
	c := start(t, api.Options{})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	sealed := func(kind byte, n, mark int) []byte {
		b := append([]byte{'C', 'P', 'A', 'R', kind, 0, cpar.SealedVersion, 0}, m.ID[:]...)
		return append(append(b, byte(mark)), make([]byte, n-len(b)-1)...)
	}
	var took []int
	c.fake.do = func(_ context.Context, id cpar.IndexID, q *cpar.Request) (*cpar.Reply, error) {
		took = append(took, len(q.Opaque))
		mark := int(q.Opaque[24])
		return &cpar.Reply{Index: id, Opaque: sealed('a', 44+mark, mark)}, nil
	}
	var requests []*cpar.Request
	for i := range 16 {
		requests = append(requests, &cpar.Request{Index: m.ID, Params: cpar.Params{Scheme: cpar.SchemeSealed, L: 10, Approx: 1000}, Opaque: sealed('q', 360_488, i)})
	}
	if a, _, err := c.Annotate(t.Context(), requests[3]); err != nil || !bytes.Equal(a.Opaque, sealed('a', 47, 3)) {
		t.Errorf("one: %v, %v", a, err)
	}
	replies, _, err := c.AnnotateBatch(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range replies {
		if !bytes.Equal(a.Opaque, sealed('a', 44+i, i)) || took[i+1] != 360_488 {
			t.Errorf("reply %d: %v to %d bytes", i, a, took[i+1])
		}
	}
}

func TestBatchProblems(t *testing.T) {
	c := start(t, api.Options{})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	url := c.url + strings.Replace(cparhttp.PathAnnotateBatch, "{id}", m.ID.String(), 1)
	good, _ := request(m.ID, 1).MarshalBinary()
	other, _ := request(cpar.IndexID{9}, 1).MarshalBinary()
	for name, x := range map[string]struct {
		body   []byte
		status int
		code   string
		say    string
	}{
		"garbage":             {[]byte("garbage"), 422, cparhttp.CodeInput, "reading batch"},
		"nothing":             {nil, 422, cparhttp.CodeInput, "reading batch"},
		"too many":            {wire.AppendBatch(nil, make([][]byte, cparhttp.MaxBatch+1)), 422, cparhttp.CodeInput, "a batch of 65"},
		"a body too large":    {make([]byte, cparhttp.MaxBatchBytes+1), 413, cparhttp.CodeTooLarge, ""},
		"a request too large": {wire.AppendBatch(nil, [][]byte{good, make([]byte, cpar.MaxRequestBytes+1)}), 422, cparhttp.CodeInput, "request 2 of 2"},
		"a garbled request":   {wire.AppendBatch(nil, [][]byte{good, good, good[1:]}), 422, cparhttp.CodeInput, "request 3 of 3"},
		"another index":       {wire.AppendBatch(nil, [][]byte{other, good}), 422, cparhttp.CodeInput, "request 1 of 2"},
	} {
		_, p, _ := do(t, http.MethodPost, url, bytes.NewReader(x.body))
		if p.Status != x.status || p.Code != x.code || !strings.Contains(p.Detail, x.say) {
			t.Errorf("%s: %+v, want %d %s containing %q", name, p, x.status, x.code, x.say)
		}
	}
	c.fake.do = func(ctx context.Context, _ cpar.IndexID, q *cpar.Request) (*cpar.Reply, error) {
		if q.Params.L == 2 {
			return nil, fmt.Errorf("%w: two is too much", cpar.ErrInput)
		}
		return &cpar.Reply{Index: q.Index}, nil
	}
	if _, _, err := c.AnnotateBatch(t.Context(), []*cpar.Request{request(m.ID, 1), request(m.ID, 2)}); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "request 2 of 2") {
		t.Errorf("a request that cannot be answered: %v", err)
	}
	slow := start(t, api.Options{AnnotateTimeout: 50 * time.Millisecond})
	slow.fake.do = func(ctx context.Context, _ cpar.IndexID, _ *cpar.Request) (*cpar.Reply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, _, err := slow.AnnotateBatch(t.Context(), []*cpar.Request{request(m.ID, 1), request(m.ID, 3)}); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("one that takes too long: %v", err)
	}
}

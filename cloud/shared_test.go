package cloud_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/admission"
	"cpar/cloud/api"
	"cpar/cloud/sealed"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/wire"
)

// Package search tests the other schemes.
func TestSharedBatchesOverHTTP(t *testing.T) {
	c, err := cloud.New(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	gate := admission.New(admission.Limits{Turns: 1, Wait: time.Minute})
	h, err := api.New(c.Store, c, api.Options{Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()

	s := newSealed(t, []int{128, 128, 128, 100}, []int{128, 7})
	s.push(t, c)
	id := pushed(t, c, 700)
	bodies := map[string][][]byte{}
	add := func(id cpar.IndexID, requests ...*cpar.Request) {
		var items [][]byte
		for _, q := range requests {
			b, err := q.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, b)
		}
		path, body := fmt.Sprintf("/v1/indexes/%v/annotate", id), items[0]
		if len(items) > 1 {
			path, body = path+"-batch", wire.AppendBatch(nil, items)
		}
		bodies[path] = append(bodies[path], body)
	}
	scan := func(i int) *cpar.Request {
		return &cpar.Request{Index: id, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: uint16(1 + i%20), Approx: 1000}, Vector: []uint64{uint64(i) - 5, uint64(i * i)}}
	}
	sealedOne := func(i int) *cpar.Request {
		_, q := s.request(uint64(i))
		return q
	}
	for i := range 9 {
		add(sealedID, sealedOne(i))
		for j := range 4 {
			add(id, scan(4*i+j))
		}
	}
	bad := scan(1)
	bad.Vector = []uint64{1, 2, 3}
	cut := sealedOne(1)
	cut.Opaque = cut.Opaque[:len(cut.Opaque)-8]
	add(id, bad)
	add(sealedID, cut)
	add(id, scan(50), scan(51), scan(52))
	add(id, scan(53), bad)
	add(sealedID, sealedOne(20), sealedOne(21), sealedOne(22), sealedOne(23), sealedOne(24), sealedOne(25))
	add(sealedID, sealedOne(26), cut)

	ask := func(path string, body []byte) string {
		resp, err := http.Post(srv.URL+path, cparhttp.TypeBinary, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return ""
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		if resp.StatusCode != 200 {
			b = bytes.Split(b, []byte(`"instance"`))[0]
		}
		return fmt.Sprint(resp.StatusCode, " ", string(b))
	}
	want := map[string][]string{}
	n := 0
	for path, list := range bodies {
		for _, b := range list {
			want[path] = append(want[path], ask(path, b))
			n++
		}
	}
	alone := gate.Stats().Batches
	hold, err := gate.QueueTurn("", admission.Light, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	failed := 0
	for path, list := range bodies {
		for i, b := range list {
			if want[path][i][:3] != "200" {
				failed++
			}
			all.Go(func() {
				if got := ask(path, b); got != want[path][i] {
					t.Errorf("%s %d: %.200q, alone %.200q", path, i, got, want[path][i])
				}
			})
		}
	}
	// There are 37 scans, 10 sealed requests, client batches of 3 and 2 scans,
	// and client batches of 6 and 2 sealed requests.
	heavy := 16 / sealed.BatchSize()
	for gate.Stats().Turns.Waiting < 37+10*heavy+5+8*heavy {
		time.Sleep(time.Millisecond)
	}
	hold.Done()
	all.Wait()
	if failed != 4 {
		t.Errorf("%d requests are refused; want 4 of %d", failed, n)
	}
	after := gate.Stats().Batches
	if most := alone.Batches / 2; after.Batches-alone.Batches > most {
		t.Errorf("%d batches for requests that took %d alone", after.Batches-alone.Batches, alone.Batches)
	}
}

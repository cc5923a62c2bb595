package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"cpar"
	clouds "cpar/cloud"
	"cpar/cloud/admission"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
)

func served(t testing.TB, scheme cpar.Scheme, records, dim uint32) (*cparhttp.Client, *admission.Gate, *cpar.Manifest) {
	t.Helper()
	c, err := clouds.New(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	gate := admission.New(admission.Limits{})
	h, err := api.New(c.Store, c, api.Options{Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.MaxIdleConnsPerHost = 64
	t.Cleanup(own.CloseIdleConnections)
	client, err := cparhttp.New(srv.URL, &http.Client{Transport: own})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	m := &cpar.Manifest{Scheme: scheme, ID: cpar.IndexID{1}, Records: records, Dim: dim, Shift: 10, KeywordBytes: 300}
	w, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := indexsample.Write(w, m, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	return client, gate, m
}

func scan(m *cpar.Manifest, seed uint64) *cpar.Request {
	r := rand.New(rand.NewPCG(seed, 3))
	q := &cpar.Request{Index: m.ID, Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}}
	for range m.Dim {
		q.Vector = append(q.Vector, r.Uint64())
	}
	return q
}

// BenchmarkClients uses real HTTP on loopback, with sequential requests per
// client.
func BenchmarkClients(b *testing.B) {
	client, gate, m := served(b, cpar.SchemeCAPIA, 4500, 1347)
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			before := gate.Stats().Batches
			began := time.Now()
			var wg sync.WaitGroup
			next := make(chan int)
			for i := range clients {
				q := scan(m, uint64(i))
				wg.Go(func() {
					for range next {
						if _, _, err := client.Annotate(b.Context(), q); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				next <- 0
			}
			close(next)
			wg.Wait()
			after := gate.Stats().Batches
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "answers/s")
			b.ReportMetric(float64(after.Requests-before.Requests)/float64(after.Batches-before.Batches), "requests/pass")
		})
	}
}

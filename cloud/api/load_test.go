package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	clouds "cpar/cloud"
	"cpar/cloud/admission"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
)

type far struct {
	store.Backend
	slow    atomic.Bool
	opening chan struct{}
	there   chan struct{}
}

func (f *far) Open(ctx context.Context, k store.IndexRef, m *cpar.Manifest, memory indexdir.Memory, log *slog.Logger) (*indexdir.Index, error) {
	if f.slow.Load() && k.Index == (cpar.IndexID{1}) {
		f.opening <- struct{}{}
		<-f.there
	}
	return f.Backend.Open(ctx, k, m, memory, log)
}

func TestLoadingHoldsNoTurn(t *testing.T) {
	folder, err := store.OpenFolder(t.TempDir(), durable.OS)
	if err != nil {
		t.Fatal(err)
	}
	b := &far{Backend: folder, opening: make(chan struct{}), there: make(chan struct{})}
	c := clouds.Over(b, store.Options{MaxLoaded: 1})
	defer c.Close()
	h, err := api.New(c.Store, c, api.Options{Gate: admission.New(admission.Limits{Turns: 1})})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	client, err := cparhttp.New(srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Busy = 0
	var all []*whole
	for i := range byte(2) {
		w := &whole{cloud: c, id: cpar.IndexID{i + 1}}
		w.make()
		w.push(t)
		all = append(all, w)
	}
	b.slow.Store(true)
	ask := func(w *whole) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, _, err := client.Annotate(ctx, scan(w.manifest, 1))
		return err
	}
	slow := make(chan error, 2)
	go func() { slow <- ask(all[0]) }()
	<-b.opening
	if err := ask(all[1]); err != nil {
		t.Errorf("beside one that is loaded: %v", err)
	}
	close(b.there)
	if err := <-slow; err != nil {
		t.Error(err)
	}
	if err := ask(all[1]); err != nil {
		t.Error(err)
	}
	b.there = make(chan struct{})
	go func() {
		slow <- client.Segment(t.Context(), all[0].id, all[0].manifest.Segments[0], &bytes.Buffer{})
	}()
	<-b.opening
	if err := ask(all[1]); err != nil {
		t.Error(err)
	}
	close(b.there)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

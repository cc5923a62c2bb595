package device

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/cparhttp"
	"cpar/user"
)

// The device stops sending batches if the cloud does not support them, but not
// after a rejected batch.
func TestRejectedBatchIsSentOneByOne(t *testing.T) {
	for code, alone := range map[string]bool{cparhttp.CodeNotFound: true, cparhttp.CodeInput: false} {
		batches, singles := 0, 0
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.HasSuffix(r.URL.Path, "-batch") {
				batches++
				rw.Header().Set("Content-Type", cparhttp.TypeProblem)
				rw.WriteHeader(http.StatusNotFound)
				io.WriteString(rw, `{"code":"`+code+`"}`)
				return
			}
			singles++
			q, err := cpar.DecodeRequest(body)
			if err != nil {
				t.Error(err)
				return
			}
			b, _ := (&cpar.Reply{Index: q.Index, Visited: uint32(q.Params.L)}).MarshalBinary()
			rw.Header().Set("Content-Type", cparhttp.TypeBinary)
			rw.Write(b)
		}))
		defer srv.Close()
		client, err := cparhttp.New(srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		x := OpenedByHand(client, nil, nil)
		for range 2 {
			var all []*photoRequest
			for l := range uint16(3) {
				q := &cpar.Request{Params: cpar.Params{Scheme: cpar.SchemeCAPIA, L: l + 1, Approx: 100}, Vector: []uint64{1}}
				all = append(all, &photoRequest{request: q})
			}
			if err := x.ask(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			for i, a := range all {
				if a.Err != nil || a.reply.Visited != uint32(i+1) || a.Sent == 0 {
					t.Errorf("%s: photo %d got %+v, %v", code, i, a.reply, a.Err)
				}
			}
		}
		if want := map[bool]int{true: 1, false: 2}[alone]; batches != want || singles != 6 || x.noBatches != alone {
			t.Errorf("%s: %d batches, %d single requests", code, batches, singles)
		}
	}
}

// A device that has only the key annotates under every scheme. It fetches segments
// once, and again if the cache is lost.
func TestAnnotateInEveryScheme(t *testing.T) {
	w := newWorld(t, 8)
	for _, scheme := range cpar.Schemes() {
		d, key := w.device(scheme.String()), user.NewKey(cpar.Schemes()...)
		c := w.cloud(t.TempDir())
		id := w.push(d, c, w.build(d, key, scheme.String()+".index", user.Options{Scheme: scheme, Trees: 2}), PushOptions{}).ID
		second := w.device(scheme.String() + " second")
		open := func() *Index {
			t.Helper()
			x, err := second.Open(t.Context(), c, key, OpenOptions{Index: id})
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		x := open()
		photos := []Photo{File(filepath.Join(w.dir, "absent.jpg"))}
		for _, path := range w.photos {
			photos = append(photos, File(path))
		}
		var told, requests int
		all, err := x.Annotate(t.Context(), photos, AnnotateOptions{
			Ranking:  user.Ranking{MaxKeywords: 2},
			Sending:  func(int, *cpar.Request) error { requests++; return nil },
			Progress: func(_ string, done, _ int) { told = done },
		})
		if err != nil || len(all) != len(photos) || told != len(photos) {
			t.Fatalf("%v: %d photos, progress %d: %v", scheme, len(all), told, err)
		}
		if !errors.Is(all[0].Err, cpar.ErrInput) || all[0].Photo != photos[0].Name {
			t.Errorf("%v: a missing file: %+v", scheme, all[0])
		}
		for i, a := range all[1:] {
			if a.Err != nil || len(a.Keywords) != 2 || !slices.Equal(a.Near[0].Keywords, w.images[i].Keywords) || a.Visited != uint32(len(w.images)) {
				t.Errorf("%v: photo %d, which is in the index: %+v", scheme, i, a)
			}
			if asked := scheme.CloudSearches(); (a.Sent > 0) != asked || (a.Received > 0) != asked || (a.Took.Answer > 0) != asked || a.Took.Features <= 0 || a.Took.Read <= 0 {
				t.Errorf("%v: photo %d: %d bytes sent, %d received, %+v", scheme, i, a.Sent, a.Received, a.Took)
			}
		}
		if want := map[bool]int{true: len(w.photos)}[scheme.CloudSearches()]; requests != want || (c.sent() > 0) != scheme.CloudSearches() {
			t.Errorf("%v: %d requests were announced, the cloud had %d", scheme, requests, c.sent())
		}
		if needs := user.Hides(scheme); (x.Fetched > 0) != needs || (open().Fetched > 0) != false {
			t.Errorf("%v: %d bytes were fetched, and %d again", scheme, x.Fetched, open().Fetched)
		}
		if err := os.RemoveAll(second.Cache); err != nil {
			t.Fatal(err)
		}
		if again := open().Fetched; again != x.Fetched {
			t.Errorf("%v: %d bytes were fetched with a clean cache, %d at first", scheme, again, x.Fetched)
		}
	}
}

func TestAnnotateReopensUpdatedIndex(t *testing.T) {
	w := newWorld(t, 8)
	d, key := w.device("one"), user.NewKey()
	folder := w.build(d, key, "index", user.Options{})
	c := w.cloud(t.TempDir())
	w.push(d, c, folder, PushOptions{})
	second := w.device("two")
	x, err := second.Open(t.Context(), c, key, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.update(d, key, folder)
	w.push(d, c, folder, PushOptions{})
	all, err := x.Annotate(t.Context(), []Photo{File(w.photos[0])}, AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 2}})
	if err != nil || all[0].Err != nil || all[0].Visited != 9 || x.Generation() != 2 {
		t.Fatalf("%+v, %v, generation %d", all, err, x.Generation())
	}
	if one := all[0].Sent / 2; c.sent() != 2 || one == 0 {
		t.Errorf("%d requests, %d bytes", c.sent(), all[0].Sent)
	}
}

// The new segments are the tail of the keywords, and the last segment of vectors
// or hints.
func TestOpenFetchesOnlyNewSegments(t *testing.T) {
	for scheme, kind := range map[cpar.Scheme]cpar.SegmentKind{cpar.SchemeLocal: cpar.SegmentVectors, cpar.SchemeSealed: cpar.SegmentHints} {
		w := newWorld(t, 40)
		d, key := w.device("one"), user.NewKey()
		folder := w.build(d, key, "index", user.Options{Scheme: scheme})
		c := w.cloud(t.TempDir())
		before := w.push(d, c, folder, PushOptions{})
		second := w.device("two")
		x, err := second.Open(t.Context(), c, key, OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Annotate(t.Context(), []Photo{File(w.photos[0])}, AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 1}}); err != nil {
			t.Fatal(err)
		}
		w.update(d, key, folder)
		after := w.push(d, c, folder, PushOptions{})
		want, stay := uint64(0), 0
		for _, s := range after.Segments {
			switch {
			case s.Kind != kind && s.Kind != cpar.SegmentKeywords:
			case slices.Contains(before.Segments, s):
				stay++
			default:
				want += s.Bytes
			}
		}
		if x, err = second.Open(t.Context(), c, key, OpenOptions{}); err != nil || x.Fetched != want || stay == 0 {
			t.Errorf("%v: %d bytes were fetched, %d are new, %d segments stay: %v", scheme, x.Fetched, want, stay, err)
		}
		if _, err := x.Annotate(t.Context(), []Photo{File(w.photos[0])}, AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 1}}); err != nil {
			t.Error(err)
		}
		if all := after.Bytes(); want >= all/2 {
			t.Errorf("%v: %d of %d bytes are new", scheme, want, all)
		}
	}
}

func TestAnnotateStopsOnInterruptAndCloudFailure(t *testing.T) {
	w := newWorld(t, 3)
	d, key := w.device("one"), user.NewKey()
	c := w.cloud(t.TempDir())
	w.push(d, c, w.build(d, key, "index", user.Options{}), PushOptions{})
	x, err := d.Open(t.Context(), c, key, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := x.Annotate(stopped, []Photo{File(w.photos[0])}, AnnotateOptions{}); !errors.Is(err, context.Canceled) || len(all) > 0 {
		t.Errorf("stopped: %v, %v", all, err)
	}
	c.server.Close()
	if all, err := x.Annotate(t.Context(), []Photo{File(w.photos[0])}, AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 1}}); !errors.Is(err, cpar.ErrCloud) {
		t.Errorf("no cloud: %v, %v", all, err)
	}
}

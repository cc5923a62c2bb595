package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/blob"
	"cpar/internal/hint"
	"cpar/internal/testing/buckettest"
)

type faults struct {
	seen atomic.Int64
	of   func(n int64, w http.ResponseWriter, r *http.Request) bool
}

func (f *faults) before(w http.ResponseWriter, r *http.Request) bool {
	return f.of(f.seen.Add(1), w, r)
}

func serve(t *testing.T, o blob.Options, of func(n int64, w http.ResponseWriter, r *http.Request) bool) (*blob.Bucket, *buckettest.Memory, *faults) {
	t.Helper()
	f := &faults{of: of}
	m := &buckettest.Memory{}
	p := m.Serve(t)
	m.Before = f.before
	o.Credential = p.Credential
	b, err := blob.Open(p.Address, o)
	if err != nil {
		t.Fatal(err)
	}
	return b, m, f
}

func hangUp(w http.ResponseWriter) bool {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		c.Close()
	}
	return true
}

func TestFailuresAreRetried(t *testing.T) {
	b, _, f := serve(t, blob.Options{}, func(n int64, w http.ResponseWriter, r *http.Request) bool {
		switch n % 4 {
		case 1:
			return hangUp(w)
		case 2:
			http.Error(w, "", http.StatusServiceUnavailable)
			return true
		case 3:
			http.Error(w, "", http.StatusTooManyRequests)
			return true
		}
		return false
	})
	data := pattern(100_000, 1)
	if err := put(t.Context(), b, "x", data); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Read(t.Context(), "x", 1<<20); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if f.seen.Load() != 8 {
		t.Errorf("%d requests", f.seen.Load())
	}
	// The transport itself repeats a GET over a closed connection.
	if s := b.Stats(); s.Requests < 7 || s.Retries < 5 || s.Errors != 0 || s.Away || s.BytesIn != 100_000 || s.BytesOut < 100_000 {
		t.Errorf("%+v", s)
	}
}

func TestRefusalsAreNotRetried(t *testing.T) {
	for _, status := range []int{400, 401, 403, 405, 301, 501} {
		b, _, f := serve(t, blob.Options{}, func(_ int64, w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(status); return true })
		err := put(t.Context(), b, "x", nil)
		if !errors.Is(err, blob.ErrRefused) || f.seen.Load() != 1 || hint.Of(err) == "" {
			t.Errorf("status %d: %v after %d requests", status, err, f.seen.Load())
		}
	}
}

func TestAwayIsRemembered(t *testing.T) {
	var down atomic.Bool
	b, _, f := serve(t, blob.Options{Attempts: 3}, func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		return down.Load() && hangUp(w)
	})
	down.Store(true)
	for i, want := range []int64{3, 4, 5} {
		err := put(t.Context(), b, "x", nil)
		if !errors.Is(err, blob.ErrAway) || !errors.Is(err, cpar.ErrStorage) || hint.Of(err) == "" || f.seen.Load() != want || !b.Stats().Away {
			t.Errorf("call %d: %v after %d requests", i, err, f.seen.Load())
		}
	}
	down.Store(false)
	if err := put(t.Context(), b, "x", nil); err != nil || b.Stats().Away {
		t.Error(err)
	}
	if s := b.Stats(); s.Errors != 3 {
		t.Errorf("%+v", s)
	}
}

// The next attempt finds the object and identifies its writer.
func TestCommitSurvivesLostResponse(t *testing.T) {
	for _, other := range []bool{false, true} {
		var b *blob.Bucket
		var m *buckettest.Memory
		b, m, _ = serve(t, blob.Options{}, func(n int64, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				text := "mine"
				if other {
					text = "theirs"
				}
				m.Change("some/where/v", []byte(text))
				return hangUp(w)
			}
			return false
		})
		err := b.PutIfAbsent(t.Context(), "v", []byte("mine"))
		if other && !errors.Is(err, blob.ErrExists) || !other && err != nil {
			t.Errorf("written by another: %v: %v", other, err)
		}
	}
}

func TestStreamResumes(t *testing.T) {
	data := pattern(300_000, 3)
	var dead atomic.Bool
	b, _, f := serve(t, blob.Options{Attempts: 3}, func(n int64, w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		if dead.Load() {
			return hangUp(w)
		}
		from := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.Write(data[from:min(from+100_000, len(data))])
		return true
	})
	if got, err := b.Read(t.Context(), "x", 1<<20); err != nil || !bytes.Equal(got, data) || f.seen.Load() != 3 {
		t.Errorf("%d bytes, %v, after %d requests", len(got), err, f.seen.Load())
	}
	r, _, err := b.Get(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dead.Store(true)
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, blob.ErrAway) || n == 0 || n > 100_000 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A server that ignores ranges would send the wrong bytes.
func TestIgnoredRangeIsRefused(t *testing.T) {
	data := pattern(1000, 1)
	b, _, _ := serve(t, blob.Options{}, func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			w.Write(data)
		}
		return r.Method == http.MethodGet
	})
	if _, _, err := b.GetFrom(t.Context(), "x", 10); !errors.Is(err, blob.ErrRefused) {
		t.Error(err)
	}
}

func TestSilenceIsAbsence(t *testing.T) {
	block := make(chan struct{})
	b, _, _ := serve(t, blob.Options{Attempts: 2, Silence: 50 * time.Millisecond}, func(_ int64, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && r.Header.Get("Range") == "" {
			w.Header().Set("Content-Length", "10")
			w.Write([]byte("12345"))
			w.(http.Flusher).Flush()
		}
		<-block
		return true
	})
	defer close(block)
	if err := put(t.Context(), b, "x", nil); !errors.Is(err, blob.ErrAway) || !strings.Contains(err.Error(), "too long") {
		t.Errorf("no answer: %v", err)
	}
	if _, err := b.Read(t.Context(), "x", 10); !errors.Is(err, blob.ErrAway) {
		t.Errorf("half an answer: %v", err)
	}
}

func TestStorageChecksDigest(t *testing.T) {
	b, m, _ := serve(t, blob.Options{Attempts: 1}, func(int64, http.ResponseWriter, *http.Request) bool { return false })
	data := pattern(1000, 1)
	if err := b.Put(t.Context(), "x", bytes.NewReader(data), int64(len(data)), sha256.Sum256(data[1:])); err == nil || len(m.Names()) > 0 {
		t.Errorf("%v, %q", err, m.Names())
	}
}

func TestUnreachableStorageIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	for scheme, names := range map[string][]string{"s3": {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}, "gs": {"GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY"}, "azblob": {"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_SAS_TOKEN"}} {
		b, err := blob.Open(scheme+"://photos?endpoint=http://"+address, blob.Options{Attempts: 2, Credential: func(name string) string {
			if name == names[0] || name == names[1] {
				return "sig=c2VjcmV0"
			}
			return ""
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Get(t.Context(), "x"); !errors.Is(err, blob.ErrAway) || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// A storage that swallows requests counts as away once the wait is over,
// whatever the silence and the number of attempts.
func TestBlackHoleEndsWithWait(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *blob.Bucket) error{
		"read": func(ctx context.Context, b *blob.Bucket) error { _, err := b.Read(ctx, "a", 10); return err },
		"list": func(ctx context.Context, b *blob.Bucket) (err error) {
			for _, err = range b.List(ctx, "") {
			}
			return err
		},
		"put": func(ctx context.Context, b *blob.Bucket) error { return b.PutIfAbsent(ctx, "a", []byte("b")) },
	} {
		b, _, _ := serve(t, blob.Options{Wait: 100 * time.Millisecond}, func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return true
		})
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		for range 2 {
			if err := ask(ctx, b); !errors.Is(err, blob.ErrAway) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

//go:build linux || darwin || freebsd

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/testing/buckettest"
	"cpar/internal/testing/natstest"
)

const testAlbum = "0123456789abcdef0123456789abcdef"

// A writer puts, replaces and deletes blobs, and knows what each of them may
// hold. "" means that there is none.
type writer struct {
	n     int
	may   map[string][]string // by name; one value once acknowledged
	count int
}

func (w *writer) write(ctx context.Context, c *cparhttp.Client) {
	for ctx.Err() == nil {
		w.count++
		name, next := fmt.Sprintf("w%d-%d", w.n, rand.IntN(6)), strings.Repeat(fmt.Sprint(w.count, " "), 1+rand.IntN(20_000))
		var old *cpar.Digest
		if w.n == 0 && rand.IntN(2) == 0 {
			name = "kopia.maintenance"
		}
		now := w.may[name][0]
		var err error
		switch {
		case now != "" && name == "kopia.maintenance":
			d := cpar.Digest(sha256.Sum256([]byte(now)))
			old = &d
			fallthrough
		case now == "":
			w.may[name] = []string{now, next}
			err = c.PutBlob(ctx, testAlbum, name, []byte(next), old)
		default:
			next = ""
			w.may[name] = []string{now, next}
			err = c.DeleteBlob(ctx, testAlbum, name)
		}
		if err != nil {
			return
		}
		w.may[name] = []string{next}
	}
}

// A daemon killed at random moments loses nothing that it acknowledged.
func TestAlbumSurvivesKills(t *testing.T) {
	t.Parallel()
	for where, place := range map[string]func(*testing.T) buckettest.Endpoint{
		"a folder": func(*testing.T) buckettest.Endpoint { return buckettest.Endpoint{} },
		"a bucket": func(t *testing.T) buckettest.Endpoint { return buckettest.Versity(t).Endpoint },
	} {
		t.Run(where, func(t *testing.T) {
			d := &remoteDaemon{t: t, place: place(t), data: filepath.Join(t.TempDir(), "data")}
			var writers []*writer
			for n := range 4 {
				w := &writer{n: n, may: map[string][]string{"kopia.maintenance": {""}}}
				for i := range 6 {
					w.may[fmt.Sprintf("w%d-%d", n, i)] = []string{""}
				}
				writers = append(writers, w)
			}
			acknowledged := 0
			for range 12 {
				d.start()
				c := d.client()
				for _, w := range writers {
					for name, may := range w.may {
						if w.n > 0 && name == "kopia.maintenance" {
							continue
						}
						got, err := c.GetBlob(t.Context(), testAlbum, name, 0, -1)
						if strings.Contains(fmt.Sprint(err), "not found") {
							err = nil
						}
						if err != nil || !slices.Contains(may, string(got)) {
							t.Fatalf("%s has %.20q, %v; it may have %.20q", name, got, err, may)
						}
						w.may[name] = []string{string(got)}
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				var writing sync.WaitGroup
				for _, w := range writers {
					writing.Go(func() { w.write(ctx, c) })
				}
				time.Sleep(time.Duration(20+rand.IntN(300)) * time.Millisecond)
				d.kill()
				cancel()
				writing.Wait()
			}
			for _, w := range writers {
				acknowledged += w.count
			}
			t.Logf("%d operations", acknowledged)
			d.start()
			args := []string{"check", "--data", d.data}
			if d.place.Address != "" {
				args = []string{"check", "--store", d.place.Address}
			}
			d.kill()
			if d.place.Credential == nil {
				d.place.Credential = func(string) string { return "" }
			}
			if code, said := attempt(t, d.place, args...); code != 0 {
				t.Errorf("%v: exit code %d: %s", args, code, said)
			}
		})
	}
}

// Two routers of a cluster serve one album, and together never exceed a quota.
func TestClusterSharesAlbums(t *testing.T) {
	t.Parallel()
	c := &testCluster{t: t, nats: natstest.Start(t, 3), storage: buckettest.Versity(t)}
	const size, most = 10_000, 20
	data := filepath.Join(t.TempDir(), "tenants")
	issued, err := (&tenant.Editor{Data: data}).Add(t.Context(), "anna", "default", tenant.Album,
		tenant.Limits{StorageBytes: most * (size + 4096), RequestsPerSecond: tenant.Unlimited, Concurrent: tenant.Unlimited})
	if err != nil {
		t.Fatal(err)
	}
	var clients []*cparhttp.Client
	for i := range 2 {
		d := &remoteDaemon{t: t, place: c.storage.Endpoint, data: filepath.Join(t.TempDir(), "data")}
		if err := os.CopyFS(d.data, os.DirFS(data)); err != nil {
			t.Fatal(err)
		}
		c.machines = append(c.machines, d)
		c.start(i, "--role", "all")
		x := d.client()
		if err := x.SetToken(issued.Token); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, x)
	}
	// What one stores, the other serves at once.
	for i, x := range clients {
		name := fmt.Sprint("first-", i)
		if err := x.PutBlob(t.Context(), testAlbum, name, make([]byte, size), nil); err != nil {
			t.Fatal(err)
		}
		if b, err := clients[1-i].GetBlob(t.Context(), testAlbum, name, size-1, 1); err != nil || len(b) != 1 {
			t.Errorf("%s by the other: %d bytes, %v", name, len(b), err)
		}
	}
	var putting sync.WaitGroup
	var mu sync.Mutex
	stored, refused := 2, 0
	for i := range 30 {
		putting.Go(func() {
			b := bytes.Repeat([]byte{byte(i)}, size)
			for range 10 {
				err := clients[i%2].PutBlob(t.Context(), testAlbum, fmt.Sprint("p-", i), b, nil)
				mu.Lock()
				if err == nil {
					stored++
				} else if strings.Contains(err.Error(), "the storage quota is used up") {
					refused++
				} else {
					t.Error(err)
				}
				mu.Unlock()
				if err == nil {
					return
				}
			}
		})
	}
	putting.Wait()
	if stored != most {
		t.Errorf("%d blobs were stored and %d attempts refused; the quota has room for %d", stored, refused, most)
	}
	for i, x := range clients {
		list, _, err := x.ListBlobs(t.Context(), testAlbum, "", "")
		if err != nil || len(list) != most {
			t.Errorf("router %d lists %d blobs, %v", i, len(list), err)
		}
	}
}

// 64 uploads of 40 MB at once stay within the announced memory.
func TestUploadsStayWithinMemory(t *testing.T) {
	const bound = 96
	p := press(t, bound)
	p.client.Busy = 5 * time.Minute
	blob := bytes.Repeat([]byte("photos! "), 40<<20/8)
	p.peak(0)
	var putting sync.WaitGroup
	for i := range 64 {
		putting.Go(func() {
			if err := p.client.PutBlob(t.Context(), testAlbum, fmt.Sprint("p-", i), blob, nil); err != nil {
				t.Error(err)
			}
		})
	}
	putting.Wait()
	p.mu.Lock()
	most := p.most >> 10
	p.mu.Unlock()
	t.Logf("%d MB of anonymous memory", most)
	if most > bound+40 && !raceDetector {
		t.Errorf("%d MB of anonymous memory; it states %d MB and 40 beside", most, bound)
	}
	list, _, err := p.client.ListBlobs(t.Context(), testAlbum, "", "")
	if err != nil || len(list) != 64 {
		t.Errorf("%d blobs, %v", len(list), err)
	}
}

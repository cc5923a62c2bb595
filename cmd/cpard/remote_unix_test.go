//go:build linux || darwin || freebsd

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/testing/buckettest"
	"cpar/internal/testing/indexsample"
)

type remoteDaemon struct {
	t     *testing.T
	place buckettest.Endpoint // zero for the data folder
	data  string
	cmd   *exec.Cmd
	url   string
	said  bytes.Buffer
	core  string // to run on, "" for any
}

func (d *remoteDaemon) start(args ...string) {
	d.t.Helper()
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	if d.place.Address != "" {
		args = append([]string{"--store", d.place.Address}, args...)
	}
	args = append([]string{"cpard", "serve", "--data", d.data, "--listen", "127.0.0.1:0"}, args...)
	if d.core != "" { // taskset replaces argv[0], which selects the program
		link := filepath.Join(d.t.TempDir(), "cpard")
		if err := os.Symlink(self, link); err != nil {
			d.t.Fatal(err)
		}
		if self, err = exec.LookPath("taskset"); err != nil {
			d.t.Fatal(err)
		}
		args = append([]string{"taskset", "-c", d.core, link}, args[1:]...)
	}
	d.cmd = &exec.Cmd{Path: self, Args: args, Env: append(os.Environ(), "CPARD_CONFIG=none")}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if d.place.Address != "" {
			d.cmd.Env = append(d.cmd.Env, name+"="+d.place.Credential(name))
		}
	}
	d.cmd.Stderr = &d.said
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(d.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok && !strings.HasPrefix(line, "node ") {
		d.kill() // completes what it said
		d.t.Fatalf("it says %q, %v: %s", line, err, d.said.String())
	}
	d.url = url
}

func (d *remoteDaemon) kill() {
	if d.cmd != nil {
		d.cmd.Process.Kill()
		d.cmd.Wait()
		d.cmd = nil
	}
}

func (d *remoteDaemon) client() *cparhttp.Client {
	d.t.Helper()
	c, err := cparhttp.New(d.url, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// large builds an index of scheme capia of 6 MB, whose push takes a while.
func large(t *testing.T, id, seed uint64) (folder string, m *cpar.Manifest) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "index")
	m, err := scan(folder, id, seed, 10_000, 64)
	if err != nil {
		t.Fatal(err)
	}
	return folder, m
}

// whole returns which of these manifests is active, or -1, after fetching all
// of its segments.
func whole(t *testing.T, c *cparhttp.Client, id cpar.IndexID, of ...*cpar.Manifest) int {
	t.Helper()
	m, err := c.Manifest(t.Context(), id)
	if errors.Is(err, cparhttp.ErrNotFound) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range m.Segments {
		h := sha256.New()
		if err := c.Segment(t.Context(), id, seg, h); err != nil || cpar.Digest(h.Sum(nil)) != seg.Digest {
			t.Fatalf("segment %v %v: %v", seg.Kind, seg.Digest, err)
		}
	}
	got, _ := m.MarshalBinary()
	for i, want := range of {
		if b, _ := want.MarshalBinary(); bytes.Equal(got, b) {
			return i
		}
	}
	t.Fatal("another index is active")
	return -1
}

// Loaded indexes are still served, other requests report the missing storage,
// and the push or its repetition succeeds.
func TestPushSurvivesStorageOutage(t *testing.T) {
	storage := buckettest.Versity(t)
	d := &remoteDaemon{t: t, place: storage.Endpoint, data: filepath.Join(t.TempDir(), "data")}
	d.start()
	c := d.client()
	loaded, loadedManifest := large(t, 1, 1)
	if _, err := c.Push(t.Context(), loaded, nil); err != nil {
		t.Fatal(err)
	}
	id := indexsample.Manifest(2).ID
	var folders []string
	var manifests []*cpar.Manifest
	for seed := range uint64(2) {
		folder, m := large(t, 2, seed)
		folders, manifests = append(folders, folder), append(manifests, m)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	first := 0 // pushes that survived the gap
	for round := range 6 {
		before := whole(t, c, id, manifests...)
		if c.Busy = 0; round > 0 { // no retries in the first round
			c.Busy = time.Minute
		}
		at := rng.Int64N(int64(manifests[0].Bytes()))
		var once sync.Once
		dead := make(chan struct{})
		_, err := c.Push(t.Context(), folders[round%2], func(done, _ int64) {
			if done >= at {
				once.Do(func() {
					storage.Kill()
					go func() {
						defer close(dead)
						if round == 0 {
							return // absent for longer than the retries
						}
						time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
						storage.Start()
					}()
				})
			}
		})
		<-dead
		if round == 0 {
			awayAnswers(t, d, err, loadedManifest, id)
			storage.Start()
			if got := whole(t, c, id, manifests...); got != before {
				t.Errorf("after a push that failed %d is active, and before %d", got, before)
			}
		}
		if err == nil {
			first++
		} else if _, err = c.Push(t.Context(), folders[round%2], nil); err != nil {
			t.Fatalf("round %d: the second push: %v", round, err)
		}
		if got := whole(t, c, id, manifests...); got != round%2 {
			t.Errorf("round %d: %d is active", round, got)
		}
	}
	t.Logf("%d of 6 pushes continued when the storage came back; the others succeeded when repeated", first)
	// A node with an empty cache serves the same index from the storage.
	d.kill()
	other := &remoteDaemon{t: t, place: storage.Endpoint, data: filepath.Join(t.TempDir(), "data")}
	other.start("--cache-bytes", "8MB")
	if got := whole(t, other.client(), id, manifests...); got != 1 {
		t.Errorf("on another machine %d is active", got)
	}
	if got := whole(t, other.client(), loadedManifest.ID, loadedManifest); got != 0 {
		t.Errorf("on another machine %d", got)
	}
}

func awayAnswers(t *testing.T, d *remoteDaemon, pushed error, loaded *cpar.Manifest, other cpar.IndexID) {
	t.Helper()
	if !errors.Is(pushed, cpar.ErrCloud) || !strings.Contains(hint.Of(pushed), "storage") {
		t.Errorf("a push while the storage is away: %v", pushed)
	}
	seg := loaded.Segments[len(loaded.Segments)-1]
	if err := d.client().Segment(t.Context(), loaded.ID, seg, io.Discard); err != nil {
		t.Errorf("of an index that is loaded: %v", err)
	}
	for _, path := range []string{"/v1/indexes", "/v1/indexes/" + other.String() + "/manifest"} {
		resp, err := http.Get(d.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(body), `"code":"away"`) || strings.Contains(string(body), "127.0.0.1") {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

// After each kill cpard serves complete indexes, including every acknowledged
// one.
func TestKilledOverObjectStorage(t *testing.T) {
	storage := buckettest.Versity(t)
	d := &remoteDaemon{t: t, place: storage.Endpoint, data: filepath.Join(t.TempDir(), "data")}
	id := indexsample.Manifest(3).ID
	var folders []string
	var manifests []*cpar.Manifest
	for seed := range uint64(2) {
		folder, m := large(t, 3, seed)
		folders, manifests = append(folders, folder), append(manifests, m)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	d.start()
	start := time.Now()
	if _, err := d.client().Push(t.Context(), folders[0], nil); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start) // of a push, so that the instants fall into it
	active, killed := 0, 0
	inFlight := active // the manifest that the last killed push was writing
	for round := range 60 {
		next := (active + 1) % 2
		if active < 0 {
			next = round % 2
		}
		remove := round%5 == 4
		c := d.client()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			if remove {
				done <- c.Delete(ctx, id)
				return
			}
			_, err := c.Push(ctx, folders[next], nil)
			done <- err
		}()
		var err error
		select {
		case err = <-done:
			d.kill()
		case <-time.After(time.Duration(rng.Int64N(int64(took)))):
			d.kill()
			killed++
			cancel()
			err = <-done
		}
		cancel()
		d.start()
		got := whole(t, d.client(), id, manifests...)
		want := next
		if remove {
			want = -1
		}
		notFound := remove && errors.Is(err, cparhttp.ErrNotFound)
		// The storage may complete a write after the daemon that sent it was
		// killed, and even after its successor has looked.
		possible := got == active || got == want || got == inFlight
		if !possible || err == nil && got != want || notFound && got != -1 {
			t.Fatalf("round %d: %d was active, %d was expected (%v), %d is active", round, active, want, err, got)
		}
		active, inFlight = got, want
		if left, _ := filepath.Glob(filepath.Join(d.data, "cache", "*", "*", "segments", "*.tmp")); len(left) > 0 {
			t.Errorf("round %d: left in the cache: %q", round, left)
		}
	}
	if killed == 0 {
		t.Error("it was never killed in the middle of anything")
	}
	t.Logf("killed in the middle %d of 60 times", killed)
}

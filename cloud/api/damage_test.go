package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/api"
	"cpar/cloud/shard"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/testing/indexsample"
)

func (c *cloud) folder(m *cpar.Manifest) string {
	return filepath.Join(c.data, "indexes", m.ID.String())
}

func TestProblemsContainNoPaths(t *testing.T) {
	_, m := build(t, 1, 1)
	manifest, _ := m.MarshalBinary()
	next := indexsample.Manifest(1)
	kinds, segments := indexsample.Segments(next, 2)
	for i, k := range kinds {
		next.Segments = append(next.Segments, cpar.Segment{Kind: k, Bytes: uint64(len(segments[i])), Digest: cpar.Digest{byte(i + 1)}})
	}
	incomplete, _ := next.MarshalBinary()
	req, _ := request(m.ID, 3).MarshalBinary()
	index := "/v1/indexes/" + m.ID.String()
	replace := func(path string, by []byte) {
		os.RemoveAll(path)
		os.WriteFile(path, by, 0o600)
	}
	for what, damage := range map[string]func(c *cloud){
		"nothing":           func(c *cloud) {},
		"no segment":        func(c *cloud) { os.Remove(indexdir.SegmentPath(c.folder(m), m.Segments[5].Digest)) },
		"a shorter segment": func(c *cloud) { replace(indexdir.SegmentPath(c.folder(m), m.Segments[5].Digest), []byte("x")) },
		"another segment":   func(c *cloud) { replace(indexdir.SegmentPath(c.folder(m), m.Segments[5].Digest), make([]byte, 40)) },
		"a folder for a segment": func(c *cloud) {
			os.Remove(indexdir.SegmentPath(c.folder(m), m.Segments[5].Digest))
			os.Mkdir(indexdir.SegmentPath(c.folder(m), m.Segments[5].Digest), 0o700)
		},
		"no manifest":     func(c *cloud) { os.Remove(filepath.Join(c.folder(m), "manifest")) },
		"not a manifest":  func(c *cloud) { replace(filepath.Join(c.folder(m), "manifest"), []byte("mine")) },
		"a huge manifest": func(c *cloud) { replace(filepath.Join(c.folder(m), "manifest"), make([]byte, 5<<20)) },
		"half a manifest": func(c *cloud) { replace(filepath.Join(c.folder(m), "manifest"), manifest[:50]) },
		"a later manifest": func(c *cloud) {
			b := bytes.Clone(manifest)
			b[6]++
			replace(filepath.Join(c.folder(m), "manifest"), b)
		},
		"a folder for a manifest": func(c *cloud) {
			os.Remove(filepath.Join(c.folder(m), "manifest"))
			os.Mkdir(filepath.Join(c.folder(m), "manifest"), 0o700)
		},
		"a file for the segments": func(c *cloud) {
			os.RemoveAll(filepath.Join(c.folder(m), "segments"))
			replace(filepath.Join(c.folder(m), "segments"), nil)
		},
		"other files":        func(c *cloud) { replace(c.folder(m), nil) },
		"no folder":          func(c *cloud) { os.RemoveAll(c.folder(m)) },
		"no indexes":         func(c *cloud) { os.RemoveAll(filepath.Join(c.data, "indexes")) },
		"a file for indexes": func(c *cloud) { replace(filepath.Join(c.data, "indexes"), nil) },
		"a closed store":     func(c *cloud) { c.store.Close() },
	} {
		t.Run(what, func(t *testing.T) {
			data := t.TempDir()
			if _, err := indexsample.Build(filepath.Join(data, "indexes", m.ID.String()), 1, 1); err != nil {
				t.Fatal(err)
			}
			// Restart, because a loaded index reads no file.
			c := startIn(t, data, load, api.Options{})
			c.fake.do = func(_ context.Context, id cpar.IndexID, _ *cpar.Request) (*cpar.Reply, error) {
				h, err := c.store.Get(context.Background(), store.IndexRef{Index: id})
				if err != nil {
					return nil, err
				}
				h.Release()
				return &cpar.Reply{Index: id}, nil
			}
			damage(c)
			problems := 0
			for _, k := range []struct {
				method, path string
				body         []byte
			}{
				{"GET", "/v1/indexes", nil},
				{"GET", index + "/manifest", nil},
				{"GET", index + "/segments/" + m.Segments[5].Digest.String(), nil},
				{"HEAD", index + "/segments/" + m.Segments[5].Digest.String(), nil},
				{"POST", index + "/annotate", req},
				{"POST", index + "/missing", manifest},
				{"PUT", index + "/manifest", incomplete},
				{"PUT", index + "/manifest", manifest},
				{"PUT", index + "/segments/" + strings.Repeat("0", 64), []byte("x")},
				{"DELETE", index, nil},
			} {
				var body io.Reader
				if k.body != nil {
					body = bytes.NewReader(k.body)
				}
				resp, _, b := do(t, k.method, c.url+k.path, body)
				if resp.StatusCode >= 400 {
					problems++
				}
				for _, part := range []string{data, filepath.Dir(data), "indexes/", "indexes\\\\"} {
					if strings.Contains(string(b), part) {
						t.Errorf("%s %s: status %d: %s", k.method, k.path, resp.StatusCode, b)
						break
					}
				}
			}
			if problems < 2 {
				t.Errorf("%d problems", problems)
			}
		})
	}
}

// cut truncates a file of a served index. Reading its map then faults.
func cut(t *testing.T, path string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated on this system")
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
}

func TestTruncatedSegmentEndsOnlyTheRequest(t *testing.T) {
	c := start(t, api.Options{})
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	s := m.Segments[0]
	if err := c.Segment(t.Context(), m.ID, s, io.Discard); err != nil {
		t.Fatal(err)
	}
	cut(t, indexdir.SegmentPath(c.folder(m), s.Digest))
	for range 3 {
		resp, err := http.Get(c.url + "/v1/indexes/" + m.ID.String() + "/segments/" + s.Digest.String())
		if err != nil {
			continue
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && resp.StatusCode == http.StatusOK {
			t.Errorf("status %d and %d bytes of a missing segment", resp.StatusCode, len(b))
		}
	}
	if !strings.Contains(c.log.String(), "its memory map cannot be read") {
		t.Errorf("the fault is not logged:\n%s", c.log)
	}
	if _, err := c.List(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Segment(t.Context(), m.ID, m.Segments[1], io.Discard); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("another segment of a damaged index: %v", err)
	}
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Segment(t.Context(), m.ID, s, io.Discard); err != nil {
		t.Errorf("pushed again: %v", err)
	}
}

func TestPushRepairsDamagedIndex(t *testing.T) {
	c := start(t, api.Options{})
	c.fake.do = func(ctx context.Context, id cpar.IndexID, _ *cpar.Request) (*cpar.Reply, error) {
		h, err := c.store.Get(ctx, store.IndexRef{Index: id})
		if err != nil {
			return nil, err
		}
		h.Release()
		return &cpar.Reply{Index: id}, nil
	}
	folder, m := build(t, 1, 1)
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	path := indexdir.SegmentPath(c.folder(m), m.Segments[0].Digest)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[3] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil { // in place, as the map sees it
		t.Fatal(err)
	}
	if missing, err := c.Missing(t.Context(), m); err != nil || len(missing) != 1 {
		t.Errorf("missing: %v, %v", missing, err)
	}
	req, _ := request(m.ID, 1).MarshalBinary()
	resp, p, _ := do(t, "POST", c.url+"/v1/indexes/"+m.ID.String()+"/annotate", bytes.NewReader(req))
	if resp.StatusCode != http.StatusServiceUnavailable || p.Code != cparhttp.CodeCorrupt || !strings.Contains(p.Detail, "its owner must push it again") {
		t.Errorf("status %d, %+v", resp.StatusCode, p)
	}
	if _, _, err := c.Annotate(t.Context(), request(m.ID, 1)); !errors.Is(err, cpar.ErrCorrupt) || hint.Of(err) != "push the index again" {
		t.Errorf("the owner is told %v (%s)", err, hint.Of(err))
	}
	if list, err := c.List(t.Context()); err != nil || len(list) != 1 || list[0].Damaged == "" {
		t.Errorf("listed %+v, %v", list, err)
	}
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Annotate(t.Context(), request(m.ID, 1)); err != nil {
		t.Errorf("pushed again: %v", err)
	}
}

func TestSegmentTruncatedWhileLoading(t *testing.T) {
	data := t.TempDir()
	folder, m := build(t, 1, 1)
	short := true
	c := startIn(t, data, func(_ *cpar.Manifest, _ shard.Range, segments [][]byte) (bool, error) {
		if short {
			cut(t, indexdir.SegmentPath(filepath.Join(data, "indexes", m.ID.String()), m.Segments[0].Digest))
		}
		return segments[0][0]&1 == 0, nil
	}, api.Options{})
	if _, err := c.Push(t.Context(), folder, nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("cut short while loading: %v", err)
	}
	short = false
	if _, err := c.Push(t.Context(), folder, nil); err != nil {
		t.Errorf("pushing again: %v", err)
	}
	if err := c.Segment(t.Context(), m.ID, m.Segments[0], io.Discard); err != nil {
		t.Error(err)
	}
}

package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpar"
	"cpar/internal/hint"
)

func model(n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	copy(b, "\x08\x07\x12\x04test")
	return b
}

type server struct {
	t     *testing.T
	file  []byte
	cut   int // bytes after which a connection breaks, 0 for never
	asked []http.Header
	// answer, if set, replaces the default handler.
	answer http.HandlerFunc
	during func() // called in the middle of the file
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.Header)
	if s.answer != nil {
		s.answer(w, r)
		return
	}
	if s.cut > 0 {
		w = &breaking{w, s.cut}
	}
	if s.during != nil {
		w = &calling{w, s.during}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.file))
}

type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.ResponseWriter.Write(p[:n])
	if b.left -= n; b.left == 0 {
		b.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

type calling struct {
	http.ResponseWriter
	call func()
}

func (c *calling) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:len(p)/2])
	if err != nil {
		return n, err
	}
	c.ResponseWriter.(http.Flusher).Flush()
	c.call()
	m, err := c.ResponseWriter.Write(p[len(p)/2:])
	return n + m, err
}

func serve(t *testing.T, s *server) Options {
	t.Helper()
	s.t = t
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return Options{Address: h.URL + "/net.onnx", Into: filepath.Join(t.TempDir(), "net.onnx"), Digest: sha256.Sum256(s.file), MaxBytes: 1 << 20}
}

func only(t *testing.T, o Options, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(o.Into))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(names) {
		t.Errorf("the folder holds %v, want %v", got, names)
	}
}

func whole(t *testing.T, o Options, s *server) {
	t.Helper()
	got, err := os.ReadFile(o.Into)
	if err != nil || !bytes.Equal(got, s.file) {
		t.Errorf("%d bytes are there, %v; want %d", len(got), err, len(s.file))
	}
	only(t, o, "net.onnx")
}

func TestGet(t *testing.T) {
	s := &server{file: model(100_000)}
	o := serve(t, s)
	s.during = func() {
		if _, err := os.Lstat(o.Into); err == nil {
			t.Error("something has the name before all is there")
		}
	}
	o.Bytes = int64(len(s.file))
	checked := ""
	o.Check = func(path string) error { checked = path; return nil }
	r, err := Get(t.Context(), o)
	if err != nil || r.Bytes != 100_000 || r.Resumed != 0 || r.Already || checked != PartPath(o.Into) {
		t.Fatalf("%+v, %v, checked %q", r, err, checked)
	}
	whole(t, o, s)
	if r, err = Get(t.Context(), o); err != nil || !r.Already || len(s.asked) != 1 {
		t.Errorf("again: %+v, %v, asked %d times", r, err, len(s.asked))
	}
	o.Digest[0]++
	if _, err = Get(t.Context(), o); !errors.Is(err, cpar.ErrInput) || hint.Of(err) == "" {
		t.Errorf("over another file: %v", err)
	}
	whole(t, o, s)
}

func TestResume(t *testing.T) {
	s := &server{file: model(100_000), cut: 30_000}
	o := serve(t, s)
	_, err := Get(t.Context(), o)
	if !errors.Is(err, cpar.ErrCloud) || !strings.Contains(hint.Of(err), "to resume") {
		t.Fatalf("cut: %v, hint %q", err, hint.Of(err))
	}
	only(t, o, "net.onnx.part")
	s.cut = 50_000
	if _, err := Get(t.Context(), o); !errors.Is(err, cpar.ErrCloud) {
		t.Fatalf("cut again: %v", err)
	}
	s.cut = 0
	r, err := Get(t.Context(), o)
	if err != nil || r.Bytes != 100_000 || r.Resumed != 80_000 {
		t.Fatalf("%+v, %v", r, err)
	}
	whole(t, o, s)
	if h := s.asked[2]; h.Get("Range") != "bytes=80000-" {
		t.Errorf("asked for range %q", h.Get("Range"))
	}
}

func TestResumeDiscardsAnotherFile(t *testing.T) {
	for name, change := range map[string]func(*server){
		"another length":  func(s *server) { s.file = model(90_000) },
		"another version": func(s *server) { s.file[100]++ },
		"no ranges": func(s *server) {
			s.answer = func(w http.ResponseWriter, _ *http.Request) { w.Write(s.file) }
		},
		"a range too far": func(s *server) { s.file = model(20_000) },
		"another range than was asked for": func(s *server) {
			s.answer = func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") != "" {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes 5-%d/%d", len(s.file)-1, len(s.file)))
					w.WriteHeader(http.StatusPartialContent)
					w.Write(s.file[5:])
					return
				}
				w.Write(s.file)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{file: model(100_000), cut: 30_000}
			o := serve(t, s)
			if _, err := Get(t.Context(), o); !errors.Is(err, cpar.ErrCloud) {
				t.Fatal(err)
			}
			s.cut = 0
			change(s)
			o.Digest = sha256.Sum256(s.file)
			r, err := Get(t.Context(), o)
			if err != nil || r.Resumed != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			whole(t, o, s)
		})
	}
}

func TestGetText(t *testing.T) {
	s := &server{file: []byte(`{"model": {"type": "BPE"}}`)}
	o := serve(t, s)
	if _, err := Get(t.Context(), o); !errors.Is(err, cpar.ErrInput) {
		t.Fatalf("a text for a network: %v", err)
	}
	o.Text = true
	if _, err := Get(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	whole(t, o, s)
}

// The transfer ended between the last byte and the renaming.
func TestResumeAcceptsCompletePart(t *testing.T) {
	for _, known := range []int64{0, 100_000} {
		s := &server{file: model(100_000)}
		o := serve(t, s)
		o.Bytes = known
		if err := os.WriteFile(PartPath(o.Into), s.file, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Get(t.Context(), o)
		if err != nil || r.Resumed != 100_000 {
			t.Fatalf("%+v, %v", r, err)
		}
		whole(t, o, s)
	}
}

func TestGetRefuses(t *testing.T) {
	file := model(100_000)
	for name, k := range map[string]struct {
		change func(*server, *Options)
		want   error
		says   string
	}{
		"another digest": {func(_ *server, o *Options) { o.Digest[31]++ }, cpar.ErrCorrupt, "its SHA-256 is"},
		"another length": {func(_ *server, o *Options) { o.Bytes = 99_999 }, cpar.ErrCorrupt, "sends 100000 bytes, but the file has 99999"},
		"too long":       {func(_ *server, o *Options) { o.MaxBytes = 99_999 }, cpar.ErrInput, "more than 99999 bytes"},
		"endless": {func(s *server, o *Options) {
			s.answer = func(w http.ResponseWriter, _ *http.Request) { endless(w, file) }
		}, cpar.ErrInput, "more than 1048576 bytes"},
		"encoded": {func(s *server, _ *Options) {
			s.answer = func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "br"); w.Write(file) }
		}, cpar.ErrCloud, "encoded (br)"},
		"a part, unasked": {func(s *server, _ *Options) {
			s.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(206); w.Write(file) }
		}, cpar.ErrCloud, "not asked for"},
		"not there":  {func(s *server, _ *Options) { s.answer = http.NotFound }, cpar.ErrCloud, "404"},
		"not usable": {func(_ *server, o *Options) { o.Check = func(string) error { return cpar.ErrInput } }, cpar.ErrInput, "cannot be used"},
		"a web page": {serving("<!DOCTYPE html><html>"), cpar.ErrInput, "web page"},
		"LFS":        {serving("version https://git-lfs.github.com/spec/v1\noid sha256:00"), cpar.ErrInput, "Git LFS pointer"},
		"PyTorch":    {serving("PK\x03\x04....archive/data.pkl"), cpar.ErrInput, "PyTorch"},
		"a zip":      {serving("PK\x03\x04....a.txt"), cpar.ErrInput, "zip archive"},
		"a pickle":   {serving("\x80\x02}q\x00"), cpar.ErrInput, "pickle"},
		"nothing":    {serving(""), cpar.ErrInput, "empty"},
		"anything":   {serving("hello"), cpar.ErrInput, "not an ONNX file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{file: file}
			o := serve(t, s)
			k.change(s, &o)
			_, err := Get(t.Context(), o)
			if !errors.Is(err, k.want) || !strings.Contains(err.Error(), k.says) {
				t.Errorf("%v", err)
			}
			only(t, o)
		})
	}
}

func serving(text string) func(*server, *Options) {
	return func(s *server, o *Options) { s.file, o.Digest = []byte(text), sha256.Sum256([]byte(text)) }
}

func endless(w http.ResponseWriter, p []byte) {
	for {
		if _, err := w.Write(p); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}

func TestGetStopsSlowTransfers(t *testing.T) {
	for name, drip := range map[string]time.Duration{"silence": time.Hour, "drip": 10 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			s := &server{file: model(100_000)}
			o := serve(t, s)
			o.StallTimeout = time.Second / 2
			s.answer = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(s.file)))
				for i, n := 0, 2000; ; i, n = i+n, 1 {
					w.Write(s.file[i : i+n])
					w.(http.Flusher).Flush()
					select {
					case <-r.Context().Done():
						return
					case <-time.After(drip):
					}
				}
			}
			_, err := Get(t.Context(), o)
			if !errors.Is(err, cpar.ErrCloud) || !strings.Contains(err.Error(), "almost nothing") {
				t.Fatalf("%v", err)
			}
			only(t, o, "net.onnx.part")
			s.answer = nil
			if r, err := Get(t.Context(), o); err != nil || r.Resumed < 2000 {
				t.Fatalf("%+v, %v", r, err)
			}
			whole(t, o, s)
		})
	}
}

func TestCancelKeepsReceivedBytes(t *testing.T) {
	s := &server{file: model(100_000)}
	o := serve(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(string, int, int) { cancel() }
	if _, err := Get(ctx, o); err == nil || errors.Is(err, cpar.ErrCloud) || !strings.Contains(hint.Of(err), "is kept in") {
		t.Fatalf("%v, hint %q", err, hint.Of(err))
	}
	only(t, o, "net.onnx.part")
	o.Progress = nil
	if r, err := Get(t.Context(), o); err != nil || r.Resumed == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	whole(t, o, s)
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.org/a.onnx":         true,
		"https://example.org/a.onnx?token=x": true,
		"http://127.0.0.1:1/a.onnx":          true,
		"http://localhost/a":                 true,
		"http://example.org/a.onnx":          false,
		"http://127.0.0.1.example.org/a":     false,
		"ftp://example.org/a.onnx":           false,
		"file:///etc/passwd":                 false,
		"https://me:secret@example.org/a":    false,
		"https://example.org/a#b":            false,
		"https:///a.onnx":                    false,
		"a.onnx":                             false,
		"https://example.org/model.PT":       false,
		"https://example.org/a/pytorch.bin":  false,
		"https://example.org/w.safetensors":  false,
	} {
		if _, err := CheckAddress(address); (err == nil) != ok || err != nil && (!errors.Is(err, cpar.ErrInput) || hint.Of(err) == "") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, name := range []string{"a.pt", "a.pth", "a.bin", "a.pkl", "a.ckpt"} {
		o := Options{Address: "https://example.org/a.onnx", Into: filepath.Join(t.TempDir(), name)}
		if _, err := Get(t.Context(), o); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "pickle") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// HTTPS must not become HTTP, loopback may redirect to itself, and loops end.
func TestRedirects(t *testing.T) {
	s := &server{file: model(10_000)}
	o := serve(t, s)
	secure := httptest.NewTLSServer(s)
	defer secure.Close()
	to := ""
	pointing := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }))
	defer pointing.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }))
	defer here.Close()
	o.transport = secure.Client().Transport // trusts the common certificate
	plain := o.Address
	for _, k := range []struct {
		from, to string
		want     error
	}{
		{pointing.URL, secure.URL + "/net.onnx", nil},
		{pointing.URL, plain, cpar.ErrInput},
		{pointing.URL, pointing.URL, cpar.ErrCloud},
		{here.URL, plain, nil},
		{here.URL, secure.URL, nil},
		{here.URL, "http://example.org/net.onnx", cpar.ErrInput},
		{here.URL, "file:///etc/passwd", cpar.ErrInput},
	} {
		o.Address, to = k.from, k.to
		_, err := Get(t.Context(), o)
		if k.want == nil && err != nil || k.want != nil && !errors.Is(err, k.want) {
			t.Errorf("%s to %s: %v", k.from, k.to, err)
		}
		if k.want == nil {
			whole(t, o, s)
			os.Remove(o.Into)
		}
		only(t, o)
	}
}

func TestLoopbackOnlyRefusesOtherMachines(t *testing.T) {
	if err := loopbackOnly("tcp", "192.0.2.1:80", nil); err == nil {
		t.Error("another machine")
	}
	if err := loopbackOnly("tcp", "127.0.0.1:80", nil); err != nil {
		t.Error(err)
	}
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	s := &server{file: model(10_000)}
	o := serve(t, s)
	if _, err := Get(t.Context(), o); err != nil {
		t.Error(err)
	}
}

func FuzzHead(f *testing.F) {
	f.Add([]byte("\x08\x07"))
	f.Add([]byte("\x80\x05\x95"))
	f.Fuzz(func(t *testing.T, head []byte) {
		err := checkHead(head)
		if err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Error(err)
		}
		if err == nil && (bytes.HasPrefix(head, []byte("PK")) || head[0] == 0x80) {
			t.Errorf("%q is taken", head)
		}
	})
}

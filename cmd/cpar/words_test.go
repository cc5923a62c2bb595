package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
)

// A CLIP-like pair for tests. The image half returns the mean colours of
// sixteen patches and the text half the mean of its tokens' vectors, so that
// names of colours match such patches.
const (
	pairDim    = 64
	pairTokens = 49408
)

const pairVocabulary = "../../encoder/zeroshot/testdata/clip"

func floatBytes(values []float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func pairVisual() []byte {
	model := tinyModel(1)
	var weights []float32
	for out := range 4 {
		for in := range 3 {
			for range 16 {
				w := float32(0)
				if out == in {
					w = 1. / 16
				}
				weights = append(weights, w)
			}
		}
	}
	at := bytes.Index(model, []byte("weights\x4a"))
	at = at + len("weights\x4a") + 2 // the length follows
	copy(model[at:], floatBytes(weights))
	return model
}

// A different dimension makes a mismatched half.
func pairText(t interface{ Fatal(...any) }, dim int) []byte {
	b, err := os.ReadFile(filepath.Join(pairVocabulary, "vocab.json"))
	var vocabulary map[string]int
	if err == nil {
		err = json.Unmarshal(b, &vocabulary)
	}
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	table := make([]float32, pairTokens*dim)
	for i := range table[dim:] { // token 0 is padding without meaning
		table[dim+i] = float32(rng.NormFloat64()) / 100
	}
	for word, rgb := range map[string][3]float32{"red": {1, -1, -1}, "green": {-1, .3, -.7}, "blue": {-1, -.7, 1}, "yellow": {1, .8, -.8}, "black": {-1, -1, -1}, "white": {1, 1, 1}} {
		for k := range 3 * dim / 4 {
			table[vocabulary[word+"</w>"]*dim+k] = rgb[k/(dim/4)]
		}
	}
	value := func(name string, kind uint64, dims ...uint64) message {
		var shape message
		for _, d := range dims {
			shape = shape.bytes(1, message{}.number(1, d))
		}
		return message{}.text(1, name).bytes(2, message{}.bytes(1, message{}.number(1, kind).bytes(2, shape)))
	}
	axes := message{}.text(1, "axes").number(8, 1).number(20, 7)
	keep := message{}.text(1, "keepdims").number(3, 0).number(20, 2)
	tensor := message{}.number(1, pairTokens).number(1, uint64(dim)).number(2, 1).text(8, "table").bytes(9, floatBytes(table))
	graph := message{}.
		bytes(1, message{}.text(1, "table").text(1, "input_ids").text(2, "vectors").text(4, "Gather")).
		bytes(1, message{}.text(1, "vectors").text(2, "text_embeds").text(4, "ReduceMean").bytes(5, axes).bytes(5, keep)).
		text(2, "text").bytes(5, tensor).bytes(11, value("input_ids", 7, 1, 77)).bytes(12, value("text_embeds", 1, 1, uint64(dim)))
	return message{}.number(1, 7).bytes(7, graph).bytes(8, message{}.text(1, "").number(2, 13))
}

func clipPair(t interface{ Fatal(...any) }, dir string) {
	files := map[string][]byte{"visual.onnx": pairVisual(), "text.onnx": pairText(t, pairDim), "other.onnx": pairText(t, 32)}
	for _, name := range []string{"vocab.json", "merges.txt"} {
		b, err := os.ReadFile(filepath.Join(pairVocabulary, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	err := os.MkdirAll(dir, 0o700)
	for name, b := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func writePair(ts *testscript.TestScript, _ bool, args []string) {
	clipPair(fatal{ts}, ts.MkAbs(args[0]))
}

type fatal struct{ ts *testscript.TestScript }

func (f fatal) Fatal(args ...any) { f.ts.Fatalf("%s", fmt.Sprint(args...)) }

// A wire records everything that reaches a cloud.
type wire struct {
	h    http.Handler
	sent []string
	// alter, if not nil, changes the replies to requests.
	alter func(r *http.Request, reply []byte)
}

// wired returns a cloud behind a wire, and runs cpar in this process.
func wired(t *testing.T) (w *wire, url string, run func(t *testing.T, args ...string) (string, error)) {
	t.Helper()
	dir := t.TempDir()
	for _, v := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(v, filepath.Join(dir, "home"))
	}
	t.Chdir(dir)
	c, err := cloud.New("data", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := api.New(c.Store, c, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{h: h}
	server := httptest.NewServer(w)
	t.Cleanup(func() { server.Close(); c.Close() })
	return w, server.URL, func(t *testing.T, args ...string) (string, error) {
		var out bytes.Buffer
		root := newRoot()
		root.SetArgs(args)
		root.SetOut(&out)
		root.SetErr(io.Discard)
		err := root.ExecuteContext(context.Background())
		return out.String(), err
	}
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var header bytes.Buffer
	r.Header.Write(&header)
	w.sent = append(w.sent, fmt.Sprintf("%s %s\n%s\n%q", r.Method, r.URL, header.String(), body))
	if w.alter == nil {
		w.h.ServeHTTP(rw, r)
		return
	}
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	w.alter(r, rec.Body.Bytes())
	maps.Copy(rw.Header(), rec.Header())
	rw.WriteHeader(rec.Code)
	rw.Write(rec.Body.Bytes())
}

// With the same random numbers, the cloud receives the same bytes in the same
// order, whatever the list of words.
func TestWordsAreNotSent(t *testing.T) {
	pair := t.TempDir()
	clipPair(t, pair)
	w, url, run := wired(t)
	if err := os.CopyFS("pair", os.DirFS(pair)); err != nil {
		t.Fatal(err)
	}
	for folder, from := range map[string]int{"photos": 0, "new": 40} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		var manifest strings.Builder
		manifest.WriteString("path,keywords\n")
		for i := from; i < 40 || from > 0 && i < from+3; i++ {
			jpg, words, err := paintOnce(i)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%d.jpg", i)
			fmt.Fprintf(&manifest, "%s,%s\n", name, strings.Join(words, ";"))
			if err := os.WriteFile(filepath.Join(folder, name), jpg, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, "manifest.csv"), []byte(manifest.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(args ...string) {
		t.Helper()
		if _, err := run(t, args...); err != nil {
			t.Fatal(args, err)
		}
	}
	must("init", "--key", "k", "--no-passphrase")
	must("build", "photos", "--key", "k", "--out", "index", "--scheme", "sealed", "--profile", "network", "--model", "pair/visual.onnx")
	must("push", "index", "--cloud", url)
	ask := []string{"annotate", "new", "--key", "k", "--cloud", url, "--model", "pair/visual.onnx", "--jobs", "1", "--json",
		"--cache", "open"} // an encrypted cache draws random numbers
	must(ask...) // fill the caches before all comparisons
	sentBy := func(seed uint64, args ...string) (sent []string) {
		t.Run(fmt.Sprint(seed, args), func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, seed)
			w.sent = nil
			out, err := run(t, append(slices.Clone(ask), args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if found := strings.Contains(out, `"words":[`); found != (len(args) > 0) {
				t.Errorf("words in %s", out)
			}
			sent = w.sent
		})
		return sent
	}
	without := sentBy(7)
	if len(without) < 2 || !strings.Contains(without[len(without)-2]+without[len(without)-1], "annotate") {
		t.Fatalf("%d requests were seen, and none to annotate", len(without))
	}
	if slices.Equal(without, sentBy(8)) {
		t.Error("other random numbers make the same bytes: this test would see nothing")
	}
	for _, args := range [][]string{
		{"--text-model", "pair/text.onnx", "--words-score", "0"},
		{"--text-model", "pair/text.onnx", "--words-score", "0", "--words", "red,green"},
		{"--text-model", "pair/text.onnx", "--words-score", "0", "--words", "blue", "--words-most", "1"},
	} {
		with := sentBy(7, args...)
		for i := range max(len(with), len(without)) {
			if i >= len(with) || i >= len(without) || with[i] != without[i] {
				t.Errorf("%v: request %d of %d differs from that of %d without", args, i+1, len(with), len(without))
				break
			}
		}
	}
}

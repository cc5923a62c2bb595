// Package graphs compares networks with ONNX Runtime. torch exported them
// (export.py) with the structure of public networks and random weights.
// CPAR_GRAPHS names the folder of the files.
package graphs

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar/encoder"
	"cpar/internal/testing/oracle"
)

type graph struct {
	File, Network, Form string
	Opset               int
	Input, Type, Layout string
	Inputs              []string
	Side                int
	Embedding           string // the correct one, "" if it has no fixed name
	Size                int
	Reference           string // the file in single precision with the same weights
	Full                bool   // of the original's size
	Refused             string // the expected reason for refusal
	Pool                string // the required pooling of tokens, if any
	// Changes are offsets and values of numbers in the reference, such as √2,
	// that half precision changes.
	Changes [][2]float64
}

func (g graph) isText() bool { return g.Layout == "text" }

func graphs(t testing.TB) (all []graph, byFile map[string]graph) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(oracle.Named(t, "CPAR_GRAPHS"), "index.json"))
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	byFile = map[string]graph{}
	for _, g := range all {
		byFile[g.File] = g
	}
	return all, byFile
}

func pixels(side int) []float32 {
	rng := rand.New(rand.NewPCG(1, uint64(side)))
	var coarse [3][8][8]float64
	for c := range coarse {
		for y := range coarse[c] {
			for x := range coarse[c][y] {
				coarse[c][y][x] = rng.Float64()
			}
		}
	}
	image := make([]float32, 3*side*side)
	for i := range image {
		c, y, x := i/(side*side), i/side%side, i%side
		v := 0.7*coarse[c][8*y/side][8*x/side] + 0.3*rng.Float64()
		image[i] = float32(math.Floor(255 * v))
	}
	return image
}

func (g graph) pictures() (image, same []float32) {
	raw := pixels(g.Side)
	normal := make([]float32, len(raw))
	mean, std := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	for i, v := range raw {
		c := i / (g.Side * g.Side)
		normal[i] = half((v/255 - mean[c]) / std[c])
	}
	if g.Type == "uint8" {
		for i, v := range raw {
			c := i / (g.Side * g.Side)
			normal[i] = (v/255 - mean[c]) / std[c]
		}
		return raw, normal
	}
	return normal, normal
}

func half(v float32) float32 {
	const bits = 13 // lost bits of the fraction, for inputs far from the ends of the range
	b := math.Float32bits(v)
	b += 1<<(bits-1) - 1 + b>>bits&1
	return math.Float32frombits(b &^ (1<<bits - 1))
}

func distances(a, b []float32) (norm, worst float64) {
	if len(a) != len(b) {
		return math.Inf(1), math.Inf(1)
	}
	var off, all, most float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		off, all = off+d*d, all+float64(b[i])*float64(b[i])
		worst, most = max(worst, math.Abs(d)), max(most, math.Abs(float64(b[i])))
	}
	return math.Sqrt(off / all), worst / most
}

func (g graph) open(t testing.TB, runtime, embedding string) (encoder.Embedder, error) {
	t.Helper()
	options := encoder.Options{Embedding: embedding, Side: g.Side}
	if runtime != encoder.Go {
		options.Library = oracle.Named(t, "CPAR_ONNXRUNTIME")
	}
	e, err := encoder.OpenWith(runtime, filepath.Join(oracle.Named(t, "CPAR_GRAPHS"), g.File), options)
	if err == nil {
		t.Cleanup(func() { e.Close() })
	}
	return e, err
}

func (g graph) expected(t testing.TB, byFile map[string]graph) (image, want []float32) {
	t.Helper()
	reference := byFile[g.Reference]
	image, same := g.pictures()
	e := g.reference(t, reference)
	want, err := e.Embed(same)
	if err != nil {
		t.Fatal(err)
	}
	return image, want
}

func (g graph) reference(t testing.TB, reference graph) encoder.Embedder {
	t.Helper()
	data, err := readChanged(t, reference.File, g.Changes)
	if err != nil {
		t.Fatal(err)
	}
	options := encoder.Options{Embedding: reference.Embedding, Side: reference.Side, Library: oracle.Named(t, "CPAR_ONNXRUNTIME")}
	path := filepath.Join(t.TempDir(), reference.File)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := encoder.OpenWith(encoder.ONNXRuntime, path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func readChanged(t testing.TB, file string, changes [][2]float64) ([]byte, error) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(oracle.Named(t, "CPAR_GRAPHS"), file))
	for _, c := range changes {
		binary.LittleEndian.PutUint32(data[int(c[0]):], math.Float32bits(float32(c[1])))
	}
	return data, err
}

const tolerance = 1e-4

// Half precision is compared with single precision of the same weights.
func TestNetworks(t *testing.T) {
	oracle.Named(t, "CPAR_ONNXRUNTIME")
	all, byFile := graphs(t)
	for _, g := range all {
		if g.isText() {
			continue
		}
		t.Run(strings.TrimSuffix(g.File, ".onnx"), func(t *testing.T) {
			if e := g.chosen(t); e != nil {
				g.check(t, e, byFile)
			}
		})
	}
}

// chosen checks the choice of an embedding and corrects a wrong one. It returns
// nil after an expected refusal.
func (g graph) chosen(t *testing.T) encoder.Embedder {
	e, err := g.open(t, encoder.Go, "")
	if g.Refused != "" {
		if err == nil {
			t.Fatal("it was not refused")
		}
		t.Log(err)
		return nil
	}
	if err == nil {
		c := e.Choice()
		name, size := c.Name, c.Size
		if size == g.Size && (g.Embedding == "" || g.Pool != "" || name == g.Embedding) {
			return e
		}
		err = fmt.Errorf("its embedding is %s of %d values, not %s of %d", name, size, g.Embedding, g.Size)
	}
	t.Error(err)
	if e, err = g.open(t, encoder.Go, g.Embedding); err != nil {
		t.Fatal(err)
	}
	return e
}

func (g graph) check(t *testing.T, e encoder.Embedder, byFile map[string]graph) {
	c := e.Choice()
	name, size := c.Name, c.Size
	image, want := g.expected(t, byFile)
	if g.Pool == "class" {
		want = want[:g.Size]
	}
	got, err := e.Embed(image)
	if err != nil {
		t.Fatal(err)
	}
	norm, worst := distances(got, want)
	if !(norm <= tolerance && worst <= tolerance) {
		t.Errorf("off by %.1e (%.1e at worst)", norm, worst)
	}
	t.Logf("%s, %d values, off by %.1e (%.1e at worst)", name, size, norm, worst)
}

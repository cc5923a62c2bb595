package profile

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cpar"
	"cpar/internal/wire"
	"cpar/model/feature"
)

func clipPhotos(n, width int) []*feature.Vectors {
	r := rand.New(rand.NewPCG(1, 2))
	photos := make([]*feature.Vectors, n)
	for i := range photos {
		x := make([]float32, width)
		for k := range x {
			x[k] = float32(1 + r.NormFloat64()/math.Sqrt(float64(k+1)))
		}
		photos[i] = &feature.Vectors{Embedding: &feature.Embedding{Values: x}}
	}
	return photos
}

// TestClipKeepsInnerProducts compares profile clip, at the full width, with
// cosines of the centred embeddings.
func TestClipKeepsInnerProducts(t *testing.T) {
	const width = 24
	photos := clipPhotos(200, width)
	gap := make([]float64, width)
	gap[3] = 5
	text := func(words []string) (out [][]float32, err error) {
		for range words {
			x := make([]float32, width)
			for k := range x {
				x[k] = float32(gap[k] + 0.1*float64(len(out)%2))
			}
			out = append(out, x)
		}
		return out, nil
	}
	fit, err := Fit(t.Context(), Clip, photos, make([][]string, len(photos)), Options{Text: text, Dim: 512})
	if err != nil {
		t.Fatal(err)
	}
	p := fit.Profile.(*ClipProfile)
	mean := make([]float64, width)
	for _, photo := range photos {
		for k, v := range unit(photo.Embedding.Values) {
			mean[k] += v / float64(len(photos))
		}
	}
	query := []float32{2, 1, 1, 4, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3}
	got, err := p.TextVector(query)
	if err != nil {
		t.Fatal(err)
	}
	q := unit(query)
	for k := range q {
		q[k] -= float64(p.texts[k])
	}
	q = unit(narrow(q))
	for i, photo := range photos {
		v, err := p.Vector(photo)
		if err != nil {
			t.Fatal(err)
		}
		x := unit(photo.Embedding.Values)
		for k := range x {
			x[k] -= mean[k]
		}
		x = unit(narrow(x))
		want, have := 0.0, 0.0
		for k := range x {
			want += x[k] * q[k]
		}
		for k := range got {
			have += float64(v.X[k]) * float64(got[k])
		}
		if math.Abs(want-have) > 1e-4 {
			t.Fatalf("photo %d: %.5f, want %.5f", i, have, want)
		}
	}
	for i := range p.basis.Out() {
		for j := range i + 1 {
			dot := 0.0
			for k, v := range p.basis.Component(i) {
				dot += float64(v) * float64(p.basis.Component(j)[k])
			}
			if want := map[bool]float64{true: 1}[i == j]; math.Abs(dot-want) > 1e-5 {
				t.Fatalf("rows %d and %d have the product %.6f", i, j, dot)
			}
		}
	}
	b, err := Append(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(wire.NewReader(b, cpar.ErrCorrupt))
	if err != nil || back.Validate() != nil {
		t.Fatal(err, back.Validate())
	}
	if again, _ := Append(nil, back); !bytes.Equal(again, b) {
		t.Error("written differently")
	}
}

func TestClipRefusesWhatDoesNotBelong(t *testing.T) {
	photos := clipPhotos(20, 8)
	text := func(words []string) ([][]float32, error) {
		out := make([][]float32, len(words))
		for i := range out {
			out[i] = make([]float32, 9)
		}
		return out, nil
	}
	keywords := make([][]string, len(photos))
	if _, err := Fit(t.Context(), Clip, photos, keywords, Options{}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no text half: %v", err)
	}
	if _, err := Fit(t.Context(), Clip, photos, keywords, Options{Text: text}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a text half of another width: %v", err)
	}
	if _, err := Fit(t.Context(), Clip, []*feature.Vectors{{}}, keywords[:1], Options{Text: text}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no embeddings: %v", err)
	}
}

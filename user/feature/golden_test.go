package feature

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"cpar/internal/oracle"
)

// agreement is how far vectors are from golden ones.
type agreement struct {
	color         float64 // largest L1 distance of the three histograms
	gabor, haar   float64 // L1 distance relative to the golden L1 norm
	gaborq, haarq float64 // fraction of equal elements
}

func compare(got, want *Vectors) agreement {
	return agreement{
		color:  max(l1(got.RGB, want.RGB), l1(got.HSV, want.HSV), l1(got.Lab, want.Lab)),
		gabor:  l1(got.Gabor, want.Gabor) / norm(want.Gabor),
		haar:   l1(got.Haar, want.Haar) / norm(want.Haar),
		gaborq: equal(got.GaborQ, want.GaborQ),
		haarq:  equal(got.HaarQ, want.HaarQ),
	}
}

func l1(a, b []float32) (d float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		d += math.Abs(float64(a[i]) - float64(b[i]))
	}
	return d
}

// norm is the L1 norm, and tiny instead of 0 for a blank image.
func norm(a []float32) float64 { return max(l1(a, make([]float32, len(a))), 1e-6) }

func equal(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	n := 0
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

func readGolden(t testing.TB, path string) map[string]*Vectors {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]*Vectors
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden) == 0 {
		t.Fatal("no golden vectors")
	}
	return golden
}

// Images of Corel-5k against OpenCV and PyWavelets. Measured: rgb, hsv and lab at
// most 0.015 away, gabor 0.1 %, haar 0.3 %; of gaborq and haarq 97.7 and 99.5 % are
// equal.
func TestGoldenCorel(t *testing.T) {
	golden := readGolden(t, oracle.Path(t, "reference/golden.json"))
	images := oracle.Path(t, "data/corel5k")
	phases, signs := 0.0, 0.0
	for name, want := range golden {
		got, err := FromFile(filepath.Join(images, name))
		if err != nil {
			t.Fatal(err)
		}
		a := compare(got, want)
		t.Logf("%s: %+v", name, a)
		if a.color > 0.02 || a.gabor > 0.02 || a.haar > 0.02 {
			t.Errorf("%s: too far from golden: %+v", name, a)
		}
		phases += a.gaborq / float64(len(golden))
		signs += a.haarq / float64(len(golden))
	}
	t.Logf("phases: %.4f, signs: %.4f", phases, signs)
	if phases < 0.94 || signs < 0.94 {
		t.Errorf("phases agree in %.4f, signs in %.4f on average", phases, signs)
	}
}

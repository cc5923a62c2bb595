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

// phaseAgreement is the fraction of equal elements of gaborq, apart for the
// blocks that touch the cut: the outermost columns at 0° and the outermost rows
// at 90°, see gaborcut.go.
func phaseAgreement(got, want []float32) (inner, cut float64) {
	var n, same [2]float64
	for i := range got {
		orientation, row, col := i/64, i/8%8, i%8
		k := 0
		if orientation == 0 && (col == 0 || col == 7) || orientation == 2 && (row == 0 || row == 7) {
			k = 1
		}
		n[k]++
		if got[i] == want[i] {
			same[k]++
		}
	}
	return same[0] / n[0], same[1] / n[1]
}

// Images of Corel-5k against OpenCV and PyWavelets.
func TestGoldenCorel(t *testing.T) {
	golden := readGolden(t, oracle.Path(t, "reference/golden.json"))
	images := oracle.Path(t, "data/corel5k")
	phases, cutPhases := 0.0, 0.0
	for name, want := range golden {
		got, err := FromFile(filepath.Join(images, name))
		if err != nil {
			t.Fatal(err)
		}
		a := compare(got, want)
		inner, cut := phaseAgreement(got.GaborQ, want.GaborQ)
		t.Logf("%s: %+v, phases %.4f away from the cut, %.4f on it", name, a, inner, cut)
		if a.color > 0.01 || a.gabor > 0.01 || a.haar > 0.01 || a.haarq < 0.98 {
			t.Errorf("%s: too far from golden: %+v", name, a)
		}
		if a.gaborq < 0.97 {
			t.Errorf("%s: phases agree in %.4f", name, a.gaborq)
		}
		phases += a.gaborq
		cutPhases += cut
	}
	n := float64(len(golden))
	t.Logf("phases: %.4f, %.4f on the cut", phases/n, cutPhases/n)
	if phases/n < 0.985 || cutPhases/n < 0.95 {
		t.Errorf("phases agree in %.4f on average, %.4f on the cut", phases/n, cutPhases/n)
	}
}

package cost

import (
	"strings"
	"testing"

	"cpar/eval/measure/measuretest"
)

// Nothing is pruned, and every box takes the inner products of the paper's
// formula.
func TestMeasureLetter(t *testing.T) {
	l, err := MeasureLetter(t.Context(), measuretest.SyntheticCorpus(5, 60, 5), 40, 0.1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.Place < 0.97 || l.Planes < 100 {
		t.Errorf("%+v", l)
	}
	ours := 0
	for _, b := range l.Boxes {
		switch {
		case b.MS < 0 || b.Bytes != 8*b.Elements:
			t.Errorf("%+v", b)
		case strings.HasPrefix(b.Box, "product: "):
			ours++
			if strings.Contains(b.Box, "Comp") && (b.Dot != 1 || *b.DotPaper < 100) {
				t.Errorf("a comparison of the product is one inner product: %+v", b)
			}
		case strings.HasPrefix(b.Box, "Algorithm 1"):
			// The first images in Queue are not compared.
			if b.Dot > *b.DotPaper || b.Dot < *b.DotPaper/2 {
				t.Errorf("%+v, %d by formula", b, *b.DotPaper)
			}
		case b.DotPaper != nil && b.Dot != *b.DotPaper:
			t.Errorf("%s: %d DOT, %d by formula", b.Box, b.Dot, *b.DotPaper)
		}
	}
	if ours != 6 || len(l.Boxes) != 24 {
		t.Errorf("%d boxes, %d of them the product's", len(l.Boxes), ours)
	}
}

package cost

import (
	"math"
	"slices"
	"strings"
	"testing"

	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/internal/testing/oracle"
	"cpar/kdforest"
	"cpar/model/embed"
	"cpar/model/vector"
	"cpar/photo/dataset"
	"cpar/user"
)

// The paper prunes a side whose hyperplane is farther than the last record in
// Queue. For photos, no hyperplane is as far as even the true tenth neighbour,
// because it bounds one of 1,296 coordinates. Nothing is ever pruned.
func TestErratumNoHyperplaneIsBeyondTheTenth(t *testing.T) {
	c, err := dataset.Open(t.Context(), oracle.Path(t, "data/corel5k"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const records, requests = 300, 20
	images, _, err := user.ReadPhotos(t.Context(), c.Photos[:records+requests], user.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	corpus := &measure.Corpus{Train: images[:records], Test: images[records:]}
	train, test, err := measure.PlainVectors(corpus, letterPCA)
	if err != nil {
		t.Fatal(err)
	}
	all := measure.Levels(measure.Quantized(append(slices.Clone(train), test...)))
	baselines, err := embed.Baselines(all, vector.Beta)
	if err != nil {
		t.Fatal(err)
	}
	mHat := embed.Dimension(len(all[0]), vector.Beta, 1, 100)
	projection, err := embed.New([32]byte{1}, len(all[0]), vector.Beta, mHat, baselines)
	if err != nil {
		t.Fatal(err)
	}
	z, err := projection.EmbedAll(all)
	if err != nil {
		t.Fatal(err)
	}
	forest, planes, err := kdforest.Build(all[:records], kdforest.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	unit := float64(mHat) * vector.Beta / 2
	square := func(a, b int16) float64 { return math.Pow(float64(a)-float64(b), 2) / unit }
	compared, reach := 0, 0.0
	for i, q := range z[records:] {
		var distances []float64
		for r := range records {
			sum := 0.0
			for k, x := range z[r] {
				sum += square(x, q[k])
			}
			for k, x := range train[r].KL {
				sum += x * math.Log(x/test[i].KL[k])
			}
			distances = append(distances, sum)
		}
		slices.Sort(distances)
		for _, tree := range forest.Trees {
			for _, node := range tree {
				if node.Plane == kdforest.None {
					continue
				}
				s := planes[node.Plane].Dim
				compared++
				reach = max(reach, square(z[node.Record][s], q[s])/distances[9])
			}
		}
	}
	t.Logf("of %d hyperplanes the farthest reaches %.1f %% of the tenth neighbour", compared, 100*reach)
	if reach > 0.2 {
		t.Errorf("a hyperplane reaches %.1f %% of the tenth neighbour", 100*reach)
	}
	if compared < 10*requests*records/3 {
		t.Errorf("only %d hyperplanes", compared)
	}
}

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

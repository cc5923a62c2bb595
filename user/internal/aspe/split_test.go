package aspe

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/internal/wire"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user/scorevector"
)

// TestSplitterKeepsDistances checks that plane distances are at most L2, and L2
// at most L1.
func TestSplitterKeepsDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	levels := make([][]uint16, 200)
	for i := range levels {
		levels[i] = make([]uint16, 90)
		for j := range levels[i] {
			levels[i][j] = uint16(500 + rng.NormFloat64()*float64(3+j%9))
		}
	}
	s, points, err := fitSplitter(t.Context(), levels)
	if err != nil {
		t.Fatal(err)
	}
	if s.dims(90) != splitComponents || s.unit() <= 0 {
		t.Errorf("%d coordinates of %g levels", s.dims(90), s.unit())
	}
	reached := 0
	for i, p := range points {
		if got := s.point(levels[i]); !slices.Equal(got, p) {
			t.Fatalf("record %d lies at %v at build, at %v when asked about", i, p, got)
		}
		for _, x := range p {
			if x <= 1 || x >= vector.Beta {
				reached++
			}
		}
		other := rng.IntN(len(levels))
		l1 := 0.0
		for j, x := range levels[i] {
			l1 += math.Abs(float64(x) - float64(levels[other][j]))
		}
		for k := range p {
			// Half a unit of rounding at either end.
			if d := (math.Abs(float64(p[k])-float64(points[other][k])) - 1) * s.unit(); d > l1 {
				t.Fatalf("coordinate %d differs by %g levels, all levels together by %g", k, d, l1)
			}
		}
	}
	// Few coordinates reach the end of the range.
	if reached < 1 || reached > 5 {
		t.Errorf("%d coordinates reach the ends of the range: the step is too large, or too small", reached)
	}
	b, err := s.appendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := wire.NewReader(b, cpar.ErrCorrupt)
	again, err := readSplitter(r)
	if err != nil || r.Close() != nil || !slices.Equal(again.point(levels[3]), points[3]) {
		t.Errorf("read again: %v, %v", err, r.Close())
	}
}

func TestOriginalSplitIsTheLevels(t *testing.T) {
	var s splitter
	if levels := []uint16{3, 1, 4}; !slices.Equal(s.point(levels), levels) || s.dims(3) != 3 || s.unit() != 1 {
		t.Errorf("%v, %d, %g", s.point(levels), s.dims(3), s.unit())
	}
}

// TestPointKeepsPlanesExact checks that distant photos are moved so that plane
// scores stay exact, and near ones are unchanged.
func TestPointKeepsPlanesExact(t *testing.T) {
	x := setUp(t, profile.Paper, syntheticphotos.Photos(200, 3), Options{Trees: 20, Lists: None})
	v := &vector.Vector{Levels: slices.Clone(x.collection.Records[0].Vector.Levels), KL: x.collection.Records[0].Vector.KL}
	if got, want := x.point(v), x.part.split.point(v.Levels); !slices.Equal(got, want) {
		t.Errorf("a record's point moved from %v to %v", want, got)
	}
	// With a smaller limit, the point is moved but keeps its direction.
	whole := x.point(v)
	var far int64
	for i, f := range x.fields {
		d := int64(whole[f]) - int64(x.part.centres[i])
		far += max(d, -d)
	}
	x.planeLimit = far / 2
	budget, err := scorevector.NewPlanes(ints(x.part.centres), vector.Beta)
	if err != nil {
		t.Fatal(err)
	}
	if budget.Limit() != 19669 {
		t.Errorf("room of %d: FORMAT.md says 19,669", budget.Limit())
	}
	away := int64(0)
	for i, level := range x.point(v) {
		f := slices.Index(x.fields, i)
		if f < 0 {
			continue
		}
		was, is := int64(whole[i])-int64(x.part.centres[f]), int64(level)-int64(x.part.centres[f])
		if was*is < 0 || max(is, -is) > max(was, -was) {
			t.Errorf("field %d lies %d from its centre, was %d", f, is, was)
		}
		away += max(is, -is)
	}
	// Truncation loses less than 1 per field.
	if away > far/2 || away < far/2-int64(len(x.fields)) || away >= far {
		t.Errorf("moved from %d to %d from the centres in all, room for %d", far, away, far/2)
	}
}

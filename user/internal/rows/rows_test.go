package rows

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar/kdforest"
)

func randomRows(rng *rand.Rand, n, dim int) *Rows {
	r := New(dim)
	row := make([]int16, dim)
	for range n {
		for j := range row {
			row[j] = int16(rng.IntN(81) - 40)
		}
		r.Add(row, rng.Int64N(1<<19)-1<<18)
	}
	return r
}

// TestScoresEqualTheNaiveLoop covers every remainder of the unrolled loop.
func TestScoresEqualTheNaiveLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, dim := range []int{1, 2, 3, 4, 5, 7, 96, 1344} {
		for _, n := range []int{0, 1, 9, 100} {
			r := randomRows(rng, n, dim)
			u, _ := randomRows(rng, 1, dim).At(0)
			want := make([]int64, n)
			for i := range want {
				row, addend := r.At(i)
				want[i] = score(row, addend, u)
			}
			for _, workers := range []int{1, 3} {
				if got := r.Scores(u, workers); !slices.Equal(got, want) {
					t.Errorf("%d rows of %d by %d workers: %v, want %v", n, dim, workers, got, want)
				}
			}
			if r.Len() != n {
				t.Errorf("%d rows, want %d", r.Len(), n)
			}
		}
	}
}

func TestNearestIsSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		n, l := 1+rng.IntN(60), 1+rng.IntN(20)
		scores := make([]int64, n)
		for i := range scores {
			scores[i] = rng.Int64N(20)
		}
		removed := NewBitmap(n)
		var want []kdforest.Hit
		for i, s := range scores {
			if i%3 == 1 {
				removed = removed.With(n, []int{i})
				continue
			}
			want = append(want, kdforest.Hit{Record: uint32(i), Score: s})
		}
		slices.SortStableFunc(want, func(a, b kdforest.Hit) int { return cmp.Compare(a.Score, b.Score) })
		want = want[:min(l, len(want))]
		if got := nearest(scores, l, removed); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestBitmapIsASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	b, set, records := NewBitmap(0), map[int]bool{}, 0
	for range 60 {
		before := slices.Clone(b)
		records += rng.IntN(5)
		var removed []int
		for range min(records, rng.IntN(4)) {
			i := rng.IntN(records)
			removed, set[i] = append(removed, i), true
		}
		next := b.With(records, removed)
		if !slices.Equal(b, before) {
			t.Fatal("With changed its receiver")
		}
		b = next
		if len(b) != (records+7)/8 || b.count() != len(set) {
			t.Fatalf("%d records, %d of them removed: %d bytes, count %d", records, len(set), len(b), b.count())
		}
		for i := range records {
			if b.Has(i) != set[i] {
				t.Fatalf("record %d removed: %v", i, b.Has(i))
			}
		}
	}
}

func BenchmarkRows(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, dim = 20000, 1344
	r := New(dim)
	row := make([]int16, dim)
	for range n {
		r.Add(row, rng.Int64N(1<<21)-1<<20)
	}
	scores := r.addends
	b.Run("scan of 20000", func(b *testing.B) {
		for b.Loop() {
			r.Scores(row, 1)
		}
	})
	b.Run("nearest of 20000", func(b *testing.B) {
		removed := NewBitmap(n)
		for b.Loop() {
			nearest(scores, 10, removed)
		}
	})
}

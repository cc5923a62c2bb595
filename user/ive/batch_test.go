package ive

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"cpar/internal/modq"
)

// Rows are processed in fours and vectors in eights and sixteens, so every
// remainder is tested.
func TestBatchEqualsSinglesAtEveryRemainder(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for dim := range 22 {
		k := mustKey(t, 3, Params{Dim: dim + 1, RecordShift: 14, RequestShift: 14})
		for groups := 1; groups <= maxBatch/modq.Lanes; groups++ {
			size := groups * modq.Lanes
			work := newBatch(dim+1, size)
			// The second call uses scratch memory left by the first.
			for _, n := range []int{size, 1, size - 3} {
				x := make([]uint64, n*(dim+1))
				for i := range x {
					x[i] = r.Uint64()
				}
				want, got := make([]uint64, len(x)), make([]uint64, len(x))
				for i := 0; i < len(x); i += dim + 1 {
					k.applyInverse(want[i:i+dim+1], x[i:i+dim+1])
				}
				if k.applyInverseBatch(got, x, work); !slices.Equal(got, want) {
					t.Fatalf("dimension %d: %d of %d vectors: batch and singles differ", dim+1, n, size)
				}
				if k.applyInverseBatch(x, x, work); !slices.Equal(x, want) {
					t.Fatalf("dimension %d: %d of %d vectors, in place: batch and singles differ", dim+1, n, size)
				}
			}
		}
	}
}

// ⟨S⁻¹x, Sᵀy⟩ = ⟨x, y⟩ exactly.
func TestInverseAndTransposeCancelAtEveryRemainder(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for dim := 1; dim < 40; dim++ {
		k := mustKey(t, 8, Params{Dim: dim, RecordShift: 14, RequestShift: 14})
		x, y := make([]uint64, dim), make([]uint64, dim)
		for i := range x {
			x[i], y[i] = r.Uint64(), r.Uint64()
		}
		want := modq.Dot(x, y)
		k.applyInverse(x, x)
		k.applyTranspose(y, y)
		if got := modq.Dot(x, y); got != want {
			t.Errorf("dimension %d: %#x, want %#x", dim, got, want)
		}
	}
}

func TestRecordsAreTheSameOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	k := mustKey(t, 5, Params{Dim: 23, RecordShift: 14, RequestShift: 14})
	const n = 75
	v := vector(rand.New(rand.NewPCG(21, 22)), n*23, 1000)
	var want []uint64
	for _, processors := range []int{1, 2, 3, 16} {
		runtime.GOMAXPROCS(processors)
		got := make([]uint64, len(v))
		if err := k.EncryptRecords(got, v, NewNoise(secret(2)), 22); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d processors encrypt differently", processors)
		}
	}
}

func TestBatchSize(t *testing.T) {
	for _, c := range []struct{ n, processors, want int }{
		{0, 2, 8}, {1, 1, 8}, {8, 1, 8}, {9, 1, 16}, {9, 2, 8}, {64, 2, 32}, {64, 1, 32}, {33, 2, 24}, {1000, 64, 16}, {100000, 8, 32},
	} {
		if got := batchSize(c.n, c.processors); got != c.want {
			t.Errorf("%s: %d, want %d", fmt.Sprint(c.n, " records, ", c.processors, " processors"), got, c.want)
		}
	}
}

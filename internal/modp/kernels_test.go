package modp

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// longest is beyond 1,408 words, with which the sum of the largest products passes 2¹²⁸ by far, and
// 1,365 steps, after which lanes that take three halves of a product at a time would overflow.
const longest = 1504

// eachShape runs f with words from every mould, at every length and many distances from a
// boundary.
func eachShape(t *testing.T, lengths []int, f func(t *testing.T, r *rand.Rand, m mould, n, off int)) {
	t.Helper()
	for i, m := range moulds {
		t.Run(m.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for j, n := range lengths {
				f(t, r, m, n, j%8)
			}
		})
	}
}

func lengths(by int, more ...int) (out []int) {
	for n := 0; n <= longest; n += by {
		out = append(out, n)
	}
	return append(out, more...)
}

// atEachLevel runs f with the kernels of every level, one after the other.
func atEachLevel(f func(l level)) {
	defer func(l level) { active = l }(active)
	for _, active = range levels() {
		f(active)
	}
}

func TestDotAtEveryLength(t *testing.T) {
	eachShape(t, lengths(1, 2047, 2048, 2049, 4096, 4104, 6161), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		a, b := fence(r, n, off, m), fence(r, n+3, (off*3)%8, m)
		want := slowDot(a.words, b.words)
		atEachLevel(func(l level) {
			if got := Dot(a.words, b.words); got != want {
				t.Fatalf("%v, n = %d: %#x, want %#x", l, n, got, want)
			}
		})
		a.check(t, "Dot")
	})
}

func TestRowsAtEveryLength(t *testing.T) {
	eachShape(t, lengths(8, 1, 7, 9, 15, 97, 2040, 2048, 2056, 4112), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		count := 1 + off%3
		var matrices [Streams][]uint64
		for q := range matrices {
			matrices[q] = fence(r, count*n, (off+q)%8, m).words
		}
		x := fence(r, count*n, (off*3)%8, m).words
		want := make([][Streams]uint64, count)
		for k := range want {
			for q := range matrices {
				want[k][q] = slowDot(matrices[q][k*n:(k+1)*n], x[k*n:])
			}
		}
		atEachLevel(func(l level) {
			got := make([][Streams]uint64, count+1)
			got[count] = [Streams]uint64{guard, guard, guard, guard}
			Rows(got[:count], &matrices, x)
			for k := range want {
				if got[k] != want[k] {
					t.Fatalf("%v, n = %d: row %d of %d: %#x, want %#x", l, n, k, count, got[k], want[k])
				}
			}
			if got[count][0] != guard || got[count][3] != guard {
				t.Fatalf("%v, n = %d: wrote beyond %d rows", l, n, count)
			}
		})
	})
}

// Every number of requests, rows and lengths of every kind.
func TestTimesIsDotOfEachPair(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		var o Operand // used again and again: what was there before must not matter
		for i, m := range moulds {
			r := rand.New(rand.NewPCG(5, uint64(i)))
			for n := 1; n <= Most; n++ {
				for _, dim := range []int{0, 1, 7, 8, 16, 31, 32} {
					testTimes(t, &o, r, m, n, dim, 1+(n+dim)%(TileRows+1))
				}
			}
		}
	})
}

func TestTimesAtEveryLength(t *testing.T) {
	eachShape(t, lengths(8, 97, 2048, 2056), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		atEachLevel(func(level) { testTimes(t, new(Operand), r, m, 3+off, n, 1+off%4) })
	})
}

func testTimes(t *testing.T, o *Operand, r *rand.Rand, m mould, n, dim, count int) {
	t.Helper()
	requests, rows := make([][]uint64, n), make([][]uint64, count)
	for j := range requests {
		requests[j] = fence(r, dim, j%8, m).words
	}
	for i := range rows {
		rows[i] = fence(r, dim, (3*i)%8, m).words
	}
	o.Set(requests)
	dst := make([][Most]uint64, count+1)
	for j := range dst[count] {
		dst[count][j] = guard
	}
	ahead := rows
	if dim%16 == 0 {
		ahead = nil
	}
	o.Times(dst, rows, ahead)
	for i := range rows {
		for j, x := range requests {
			// The definition is that of Dot, which is held against big integers.
			if want := dotPlain(rows[i], x); dst[i][j] != want {
				t.Fatalf("%v, %d requests of %d words, %d rows: row %d, request %d: %#x, want %#x", active, n, dim, count, i, j, dst[i][j], want)
			}
		}
	}
	for _, w := range dst[count] {
		if w != guard {
			t.Fatalf("%v: wrote beyond %d rows", active, count)
		}
	}
}

func TestColumnsIsDotOfEach(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct{ rows, columns int }{{16, 256}, {128, 32}, {256, 16}, {3, 4}, {0, 8}} {
		a, b := words(r, c.rows*c.columns), words(r, c.rows*c.columns)
		for i := 0; i < len(a); i += c.columns {
			a[i], b[i] = Q-1, Q-1
		}
		sum := words(r, c.columns)
		Columns(sum, a, b)
		for k, got := range sum {
			var x, y []uint64
			for at := k; at < len(a); at += c.columns {
				x, y = append(x, a[at]), append(y, b[at])
			}
			if want := Dot(x, y); got != want {
				t.Fatalf("%+v, column %d: %d, want %d", c, k, got, want)
			}
		}
	}
}

func TestReduce(t *testing.T) {
	edges := []uint64{0, 1, excess, 16 * excess, 1<<46 - 1, 1 << 46, 1<<60 - 1, 1 << 60, Q - 1, Q, Q + 1, 2*Q - 1, 1<<63 - 1, 1 << 63, 1<<64 - 1<<18, 1<<64 - 2, 1<<64 - 1}
	r := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		edges = append(edges, r.Uint64()>>r.UintN(64))
	}
	var x, q big.Int
	q.SetUint64(Q)
	for _, hi := range edges {
		for _, lo := range edges {
			x.SetUint64(hi)
			x.Lsh(&x, 64)
			x.Or(&x, new(big.Int).SetUint64(lo))
			if got, want := reduce(hi, lo), x.Mod(&x, &q).Uint64(); got != want {
				t.Fatalf("%#x·2⁶⁴ + %#x: %#x, want %#x", hi, lo, got, want)
			}
		}
	}
}

// Assembly checks no bounds, so the exported functions must.
func TestShortSlicesPanic(t *testing.T) {
	one, two, eight := make([]uint64, 1), make([]uint64, 2), make([]uint64, 8)
	of := func(requests ...[]uint64) *Operand {
		o := new(Operand)
		o.Set(requests)
		return o
	}
	eachLevel(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Dot":            func() { Dot(two, one[:1:1]) },
			"Rows, a matrix": func() { Rows(make([][4]uint64, 1), &[4][]uint64{eight, eight, eight[:7:7], eight}, eight) },
			"Rows, dst":      func() { Rows(make([][4]uint64, 3), &[4][]uint64{eight, eight, eight, eight}, eight) },
			"Set, none":      func() { of() },
			"Set, too many":  func() { of(make([][]uint64, Most+1)...) },
			"Set, lengths":   func() { of(one, two) },
			"Times, a row":   func() { of(two, two).Times(make([][Most]uint64, 1), [][]uint64{one}, nil) },
			"Times, dst":     func() { of(two, two).Times(make([][Most]uint64, 1), [][]uint64{two, two}, nil) },
			"Times, ahead":   func() { of(two).Times(make([][Most]uint64, 2), [][]uint64{two, two}, [][]uint64{two}) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s took slices that do not fit", name)
					}
				}()
				f()
			}()
		}
	})
}

// The hot kernels must not allocate.
func TestKernelsAllocateNothing(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		x, rows := words(r, 32), [][]uint64{words(r, 32), words(r, 32), words(r, 32), words(r, 32)}
		dst, many := make([][Streams]uint64, 2), make([][Most]uint64, 4)
		requests := [][]uint64{x, x, x, x, x}
		var o Operand
		o.Set(requests)
		if n := testing.AllocsPerRun(10, func() {
			many[0][0] += Dot(x, rows[0])
			Rows(dst, (*[Streams][]uint64)(rows), x)
			o.Set(requests)
			o.Times(many, rows, nil)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func FuzzDot(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint16(1408), uint8(3))
	f.Add(uint64(Q-1), uint64(Q-1), uint16(1504), uint8(0))
	f.Fuzz(func(t *testing.T, seed, word uint64, n uint16, off uint8) {
		r := rand.New(rand.NewPCG(seed, word))
		m := mould{"", func(r *rand.Rand) uint64 {
			if r.IntN(2) == 0 {
				return word % Q
			}
			return r.Uint64N(Q)
		}}
		a, b := fence(r, int(n)%5000, int(off)%8, m).words, fence(r, int(n)%5000, int(off)/8%8, m).words
		want := slowDot(a, b)
		atEachLevel(func(l level) {
			if got := Dot(a, b); got != want {
				t.Errorf("%v: %#x, want %#x", l, got, want)
			}
		})
	})
}

package modq

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// eachShape runs f at every level, for every mould, length and alignment.
func eachShape(t *testing.T, lengths []int, f func(t *testing.T, r *rand.Rand, m mould, n, off int)) {
	t.Helper()
	eachLevel(t, func(t *testing.T) {
		for i, m := range moulds {
			t.Run(m.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for j, n := range lengths {
					f(t, r, m, n, j%Lanes)
				}
			})
		}
	})
}

func TestDotAtEveryLength(t *testing.T) {
	eachShape(t, lengths(), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		a, b := fence(r, n, off, m), fence(r, n, (off*3)%8, m)
		want := naiveDot(a.words, b.words)
		if got := Dot(a.words, b.words); got != want {
			t.Fatalf("n = %d: %#x, want %#x", n, got, want)
		}
		if got := DotGeneric(a.words, b.words); got != want {
			t.Fatalf("n = %d in plain Go: %#x, want %#x", n, got, want)
		}
		// b beyond len(a) is ignored.
		if n > 0 {
			if got, want := Dot(a.words[:n-1], b.words), naiveDot(a.words[:n-1], b.words); got != want {
				t.Fatalf("n = %d with a longer b: %#x, want %#x", n-1, got, want)
			}
		}
	})
}

func TestSumAtEveryLength(t *testing.T) {
	eachShape(t, lengths(), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		x := fence(r, n, off, m).words
		if got, want := Sum(x), naiveSum(x); got != want {
			t.Fatalf("n = %d: %#x, want %#x", n, got, want)
		}
		if got, want := SumFour(x), naiveSum(x); got != want {
			t.Fatalf("n = %d, by quarters: %#x, want %#x", n, got, want)
		}
	})
}

func TestAxpyAtEveryLength(t *testing.T) {
	eachShape(t, lengths(), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		alpha, x, y := m.fill(r), fence(r, n, off, m), fence(r, n, (off*3)%8, m)
		want := slices.Clone(y.words)
		for i, w := range x.words {
			want[i] += alpha * w
		}
		before := slices.Clone(x.all)
		Axpy(alpha, x.words, y.words)
		y.check(t, "y")
		if !slices.Equal(y.words, want) {
			t.Fatalf("n = %d: wrong words", n)
		}
		if !slices.Equal(x.all, before) {
			t.Fatalf("n = %d: x was written to", n)
		}
		for i, w := range before[len(before)-guardWords-n:][:n] {
			want[i] = w + alpha*w
		}
		if Axpy(alpha, x.words, x.words); !slices.Equal(x.words, want) {
			t.Fatalf("n = %d: wrong words where x is y", n)
		}
	})
}

func TestAxpyRowsAtEveryLength(t *testing.T) {
	eachShape(t, lengths(), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		var rows [TileRows][]uint64
		var alpha [TileRows]uint64
		y := fence(r, n, (off*3)%8, m)
		want := slices.Clone(y.words)
		for q := range rows {
			alpha[q], rows[q] = m.fill(r), fence(r, n, (off+q)%8, m).words
			for i, w := range rows[q] {
				want[i] += alpha[q] * w
			}
		}
		AxpyRows(&alpha, &rows, y.words, rows[3])
		y.check(t, "y")
		if !slices.Equal(y.words, want) {
			t.Fatalf("n = %d: wrong words", n)
		}
	})
}

func TestDotLanesIsDotOfEachLane(t *testing.T) {
	eachShape(t, lengths(), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		row, x, sum := fence(r, n, off, m), fence(r, n*Lanes, (off*3)%8, m), fence(r, Lanes, off, m)
		var want [Lanes]uint64
		for l := range want {
			want[l] = sum.words[l]
			for k, w := range row.words {
				want[l] += w * x.words[k*Lanes+l]
			}
		}
		DotLanes((*[Lanes]uint64)(sum.words), row.words, x.words)
		sum.check(t, "sum")
		if got := [Lanes]uint64(sum.words); got != want {
			t.Fatalf("n = %d: %#x, want %#x", n, got, want)
		}
	})
}

func TestRowsAndGatherAtEveryLength(t *testing.T) {
	eachShape(t, lengths(), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		count := n % 23
		matrix, x := fence(r, count*n, off, m).words, fence(r, n, (off*3)%8, m).words
		row := func(i int) []uint64 { return matrix[i*n : (i+1)*n] }
		dst := fence(r, count, off, m)
		Rows(dst.all[guardWords+off:][:count], matrix, x)
		dst.check(t, "Rows")
		for i, got := range dst.words {
			if want := naiveDot(row(i), x); got != want {
				t.Fatalf("n = %d: row %d: %#x, want %#x", n, i, got, want)
			}
		}
		if count == 0 {
			return
		}
		some := make([][]uint64, n%11)
		for i := range some {
			some[i] = row(r.IntN(count))
		}
		dst = fence(r, len(some), off, m)
		Gather(dst.words, some, x)
		dst.check(t, "Gather")
		for i, got := range dst.words {
			if want := naiveDot(some[i], x); got != want {
				t.Fatalf("n = %d: row %d: %#x, want %#x", n, i, got, want)
			}
		}
	})
}

func TestTileAtEveryLength(t *testing.T) {
	eachShape(t, lengths(), func(t *testing.T, r *rand.Rand, m mould, n, off int) {
		var rows [TileRows][]uint64
		for q := range rows {
			rows[q] = fence(r, n, (off+q)%8, m).words
		}
		groups := make([]Group, 1+n%TileGroups)
		for g := range groups {
			groups[g].X = fence(r, n*Lanes, (off*3+g)%8, m).words
			SumPairs(&groups[g].Pairs, groups[g].X)
		}
		var got Block
		Tile(&got, &rows, groups, rows[0])
		for g := range groups {
			for q, row := range rows {
				var want [Lanes]uint64
				for l := range want {
					for k, w := range row {
						want[l] += w * groups[g].X[k*Lanes+l]
					}
				}
				if got[g][q] != want {
					t.Fatalf("n = %d: group %d, row %d: %#x, want %#x", n, g, q, got[g][q], want)
				}
			}
		}
		if len(groups) == 1 && got[1] != (Block{})[1] {
			t.Fatalf("n = %d: wrote to a group that was not given", n)
		}
	})
}

func TestSumPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 9 {
		x := words(r, n*Lanes)
		var got, want [Lanes]uint64
		for l := range want {
			got[l] = uint64(l)
			want[l] = uint64(l)
			for k := 1; k < n; k += 2 {
				want[l] += x[(k-1)*Lanes+l] * x[k*Lanes+l]
			}
		}
		if SumPairs(&got, x); got != want {
			t.Fatalf("%d elements: %d, want %d", n, got, want)
		}
	}
}

func TestRowsManyIsDotOfEachPair(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for n := range 65 {
			for _, dim := range []int{1, 2, 3, 8, 31} {
				for _, count := range []int{0, 1, 3, 4, 9, 35} {
					testRowsMany(t, r, n, dim, count)
				}
			}
		}
		testRowsMany(t, r, 16, 1347, 21)
		testRowsMany(t, r, 7, 0, 5)
	})
}

func testRowsMany(t *testing.T, r *rand.Rand, n, dim, count int) {
	t.Helper()
	requests := make([][]uint64, n)
	for i := range requests {
		requests[i] = words(r, dim)
	}
	packed := Pack(requests)
	if len(packed) != PackedLen(n, dim) {
		t.Fatalf("%d requests of %d words: packed in %d words, want %d", n, dim, len(packed), PackedLen(n, dim))
	}
	matrix := words(r, count*dim)
	dst := fence(r, count*n, 0, moulds[0])
	RowsMany(dst.words, matrix, packed, n)
	dst.check(t, "RowsMany")
	for i := range count {
		for j, x := range requests {
			want := naiveDot(matrix[i*dim:(i+1)*dim], x)
			if got := dst.words[i*n+j]; got != want {
				t.Fatalf("%d requests of %d words, %d rows: row %d, request %d: %#x, want %#x", n, dim, count, i, j, got, want)
			}
		}
	}
}

// Assembly checks no bounds, so the exported functions must.
func TestShortSlicesPanic(t *testing.T) {
	one, two, three := make([]uint64, 1), make([]uint64, 2), make([]uint64, 3)
	lanes := [Lanes]uint64{}
	eachLevel(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Dot":                   func() { Dot(two, one[:1:1]) },
			"Axpy":                  func() { Axpy(1, two, one[:1:1]) },
			"AxpyRows":              func() { AxpyRows(new([4]uint64), &[4][]uint64{two, two, one, two}, two, nil) },
			"DotLanes":              func() { DotLanes(&lanes, one, three) },
			"Rows":                  func() { Rows(two, three[:3:3], two) },
			"Gather, row too short": func() { Gather(one, [][]uint64{one[:1:1]}, two) },
			"Gather, dst too short": func() { Gather(one[:1:1], [][]uint64{three, three}, two) },
			"RowsMany, matrix":      func() { RowsMany(make([]uint64, 8), one[:1:1], Pack([][]uint64{one, one, one, one}), 4) },
			"RowsMany, packed":      func() { RowsMany(make([]uint64, 8), three, three, 4) },
			"RowsMany, dst":         func() { RowsMany(three, three, Pack([][]uint64{one, one, one, one}), 4) },
			"RowsMany, few, matrix": func() { RowsMany(make([]uint64, 4), one[:1:1], Pack([][]uint64{one, one}), 2) },
			"RowsMany, few, packed": func() { RowsMany(make([]uint64, 4), three, three, 2) },
			"RowsMany, few, dst":    func() { RowsMany(three, three, Pack([][]uint64{one, one}), 2) },
			"Tile, group":           func() { Tile(new(Block), &[4][]uint64{one, one, one, one}, []Group{{X: one[:1:1]}}, nil) },
			"Tile, rows":            func() { Tile(new(Block), &[4][]uint64{one, one, two, one}, []Group{{X: make([]uint64, 16)}}, nil) },
			"Tile, no group":        func() { Tile(new(Block), &[4][]uint64{one, one, one, one}, nil, nil) },
			"Pack":                  func() { Pack([][]uint64{one, two}) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s took slices that are too short", name)
					}
				}()
				f()
			}()
		}
	})
}

func TestKernelsAllocateNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	matrix, x, dst := words(r, 40), words(r, 10), make([]uint64, 4)
	some := [][]uint64{matrix[30:], matrix}
	packed, many := Pack([][]uint64{x, x, x, x, x, x, x, x, x}), make([]uint64, 4*9)
	if n := testing.AllocsPerRun(10, func() {
		var lanes [Lanes]uint64
		dst[0] += Dot(x, matrix) + Sum(x)
		DotLanes(&lanes, x[:5], matrix)
		Rows(dst, matrix, x)
		Gather(dst, some, x)
		RowsMany(many, matrix, packed, 9)
		var block Block
		groups := [1]Group{{X: matrix}}
		AxpyRows(&[4]uint64{1, 2, 3, 4}, &[4][]uint64{x, x, x, x}, matrix[:10], x)
		Tile(&block, &[4][]uint64{x[:4], x[1:5], x[2:6], x[3:7]}, groups[:], x)
		dst[0] += lanes[0] + block[0][0][0]
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func wordsOf(b []byte) []uint64 {
	out := make([]uint64, (len(b)+7)/8)
	for i := range out {
		var w [8]byte
		copy(w[:], b[8*i:])
		out[i] = binary.LittleEndian.Uint64(w[:])
	}
	return out
}

func seeds(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte{1, 2, 3}, uint8(1))
	f.Add(bytes.Repeat([]byte{0xff}, 1000), uint8(3))
	f.Add(bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 0x80}, 301), uint8(17))
}

func FuzzDot(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		x := wordsOf(b)
		x = x[min(int(cut), len(x)):]
		n := len(x) / 2
		defer func(l level) { active = l }(active)
		for _, active = range supported() {
			if got, want := Dot(x[:n], x[n:]), naiveDot(x[:n], x[n:]); got != want {
				t.Errorf("%s: Dot: %#x, want %#x", active, got, want)
			}
			if got, want := Sum(x), naiveSum(x); got != want {
				t.Errorf("%s: Sum: %#x, want %#x", active, got, want)
			}
			y := slices.Clone(x[n:])
			Axpy(uint64(cut)<<57+3, x[:n], y)
			for i := range n {
				if want := x[n+i] + (uint64(cut)<<57+3)*x[i]; y[i] != want {
					t.Errorf("%s: Axpy: element %d: %#x, want %#x", active, i, y[i], want)
				}
			}
		}
	})
}

func FuzzRows(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte, shape uint8) {
		x := wordsOf(b)
		n := int(shape)%20 + 1
		dim := len(x) / (n + 2)
		requests, matrix := make([][]uint64, n), x[n*dim:]
		for i := range requests {
			requests[i] = x[i*dim : (i+1)*dim]
		}
		count := 2
		if dim > 0 {
			count = len(matrix) / dim
		}
		some := make([][]uint64, count)
		for i := range some {
			some[i] = matrix[i*int(shape)%count*dim:]
		}
		one, other, many := make([]uint64, count), make([]uint64, count), make([]uint64, count*n)
		defer func(l level) { active = l }(active)
		for _, active = range supported() {
			Rows(one, matrix, requests[0])
			Gather(other, some, requests[0])
			RowsMany(many, matrix, Pack(requests), n)
			for i := range count {
				row := func(i int) []uint64 { return matrix[i*dim : (i+1)*dim] }
				if want := naiveDot(row(i), requests[0]); one[i] != want {
					t.Errorf("%s: Rows: row %d: %#x, want %#x", active, i, one[i], want)
				}
				if want := naiveDot(some[i][:dim], requests[0]); other[i] != want {
					t.Errorf("%s: Gather: row %d: %#x, want %#x", active, i, other[i], want)
				}
				for j, request := range requests {
					if want := naiveDot(row(i), request); many[i*n+j] != want {
						t.Errorf("%s: RowsMany: row %d, request %d: %#x, want %#x", active, i, j, many[i*n+j], want)
					}
				}
			}
		}
	})
}

func TestLevelNames(t *testing.T) {
	var names []string
	AtEachLevel(func(kernels string) {
		if names = append(names, kernels); Kernels() != kernels {
			t.Errorf("Kernels() = %q, want %q", Kernels(), kernels)
		}
	})
	if best := names[len(names)-1]; names[0] != "plain Go" || Kernels() != best {
		t.Errorf("Kernels() = %q afterwards, want the last of %q", Kernels(), names)
	}
}

package mod48

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// eachShape runs f with words of every mould below every modulus, at every
// length to 1,504 and at lengths that need several parts.
func eachShape(t *testing.T, f func(t *testing.T, r *rand.Rand, m *Modulus, of mould, n int)) {
	t.Helper()
	for i, of := range moulds {
		for j, q := range moduli {
			t.Run(fmt.Sprintf("%s/%d", of.name, q), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
				for n := 0; n <= 1504; n += block {
					f(t, r, New(q), of, n)
				}
				for _, n := range []int{2032, 2048, 2064, 4112} {
					f(t, r, New(q), of, n)
				}
			})
		}
	}
}

func TestRowsAtEveryLength(t *testing.T) {
	eachShape(t, func(t *testing.T, r *rand.Rand, m *Modulus, of mould, n int) {
		rows, q := 1+n/block%3, m.c.q
		x := words(r, q, rows*n, n/block%8, of)
		var plainWords [Streams][]uint64
		var matrices [Streams][]byte
		for s := range matrices {
			plainWords[s] = words(r, q, rows*n, 0, of)
			matrices[s] = pack(plainWords[s], (n/block+7*s)%64)
		}
		want := make([][Streams]uint64, rows)
		for k := range want {
			for s := range matrices {
				want[k][s] = slowDot(q, plainWords[s][k*n:(k+1)*n], x[k*n:])
			}
		}
		before := bytes.Clone(matrices[0])
		AtEachLevel(func(l string) {
			got := make([][Streams]uint64, rows+1)
			got[rows] = [Streams]uint64{7, 7, 7, 7}
			m.Prepare(x, rows).Rows(got[:rows], &matrices)
			for k := range want {
				for s, b := range matrices {
					got[k][s] = m.Add(got[k][s], m.Correction(b[WordBytes*k*n:WordBytes*(k+1)*n]))
				}
				if got[k] != want[k] {
					t.Fatalf("%v, %d words: row %d of %d: %#x, want %#x", l, n, k, rows, got[k], want[k])
				}
			}
			if got[rows] != [Streams]uint64{7, 7, 7, 7} {
				t.Fatalf("%v, %d words: wrote beyond %d rows", l, n, rows)
			}
		})
		if !bytes.Equal(before, matrices[0]) {
			t.Fatalf("%d words: a matrix was written to", n)
		}
	})
}

func TestTimesAtEveryLength(t *testing.T) {
	eachShape(t, func(t *testing.T, r *rand.Rand, m *Modulus, of mould, n int) {
		testTimes(t, r, m, of, n, 3+n/block%14, 1+n/block%3)
	})
}

func TestTimesForAnyRequestCount(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := 1; n <= MaxRequests; n++ {
		for rows := range TileRows + 2 {
			testTimes(t, r, New(moduli[n%len(moduli)]), moulds[(n+rows)%len(moulds)], 32, n, rows)
		}
	}
}

// Kernels that multiply float64 sum sixteen products at a time and are exact
// only up to the largest sum of either sign.
func TestTimesAtLargestSums(t *testing.T) {
	of := func(w uint64) mould { return mould{"", func(*rand.Rand, uint64) uint64 { return w }} }
	for _, q := range append(moduli, 1<<48-1) {
		const n = limit + block
		m, rows := New(q), words(nil, q, n, 0, of(q-1))
		x := [][]uint64{words(nil, q, n, 0, of(q/2)), words(nil, q, n, 0, of(q/2+1)), words(nil, q, n, 0, of(q-1)), words(nil, q, n, 0, of(q/4))}
		// The factors of a pair of words have opposite signs.
		opposed, request := words(nil, q, n, 0, of(0)), words(nil, q, n, 0, of(q/2))
		for i := range n {
			if i%8 < 4 {
				opposed[i], request[i] = q-1, q/2+1
			}
		}
		x = append(x, request)
		AtEachLevel(func(l string) {
			used.Set(m, packEach(x))
			var dst [2][MaxRequests]uint64
			used.Times(dst[:], [][]byte{pack(rows, 0), pack(opposed, 0)}, nil)
			for i, row := range [][]uint64{rows, opposed} {
				for j := range x {
					if got, want := m.Add(dst[i][j], m.Correction(pack(row, 0))), slowDot(q, row, x[j]); got != want {
						t.Errorf("%v, modulus %d, row %d, request %d: %#x, want %#x", l, q, i, j, got, want)
					}
				}
			}
		})
	}
}

// used is reused by all tests, because old contents must not matter.
var used Tile

func testTimes(t *testing.T, r *rand.Rand, m *Modulus, of mould, n, requests, rows int) {
	t.Helper()
	q := m.c.q
	x, plainWords, packed := make([][]uint64, requests), make([][]uint64, rows), make([][]byte, rows)
	want := make([][]uint64, rows)
	for j := range x {
		x[j] = words(r, q, n, j%8, of)
	}
	for i := range packed {
		plainWords[i] = words(r, q, n, 0, of)
		packed[i] = pack(plainWords[i], (11*i)%64)
		for j := range x {
			want[i] = append(want[i], slowDot(q, plainWords[i], x[j]))
		}
	}
	AtEachLevel(func(l string) {
		used.Set(m, packEach(x))
		dst := make([][MaxRequests]uint64, rows+1)
		for j := range dst[rows] {
			dst[rows][j] = 7
		}
		ahead := packed
		if n%32 == 0 {
			ahead = nil
		}
		used.Times(dst, packed, ahead)
		for i := range want {
			for j := range x {
				if got := m.Add(dst[i][j], m.Correction(packed[i])); got != want[i][j] {
					t.Fatalf("%v, %d requests of %d words, %d rows: row %d, request %d: %#x, want %#x", l, requests, n, rows, i, j, got, want[i][j])
				}
			}
		}
		for _, w := range dst[rows] {
			if w != 7 {
				t.Fatalf("%v: wrote beyond %d rows", l, rows)
			}
		}
	})
}

func TestPackedWordsAreSums(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, q := range moduli {
		for n := range 12 {
			testPack(t, New(q), n, make([][Streams]uint64, 3*n), r)
			testPack(t, New(q), n, make([][MaxRequests]uint64, 3*n), r)
		}
	}
}

func testPack[S [Streams]uint64 | [MaxRequests]uint64](t *testing.T, m *Modulus, n int, sums []S, r *rand.Rand) {
	var addends [][]uint64
	for i := range sums {
		addends = append(addends, words(r, m.c.q, n, i%8, moulds[i%len(moulds)]))
		for j := range len(sums[i]) {
			sums[i][j] = moulds[(i+j)%len(moulds)].fill(r, m.c.q)
		}
	}
	for columns := 1; n > 0 && columns <= len(sums[0]); columns++ {
		AtEachLevel(func(l string) {
			var dst, want [][]byte
			some := addends[:1+columns%3]
			for j := range columns {
				sum := make([]uint64, n)
				for i := range sum {
					sum[i] = (sums[3*i][j] + some[j%len(some)][i]) % m.c.q
				}
				want = append(want, slices.Concat([]byte{7, 7}, pack(sum, 0), []byte{7, 7}))
				dst = append(dst, bytes.Repeat([]byte{7}, len(want[j])))
			}
			if Pack(m, dst, 2, some, sums, 3); !slices.EqualFunc(dst, want, bytes.Equal) {
				t.Fatalf("%v, %d columns of %d words: %x, want %x", l, columns, n, dst, want)
			}
		})
	}
}

// Assembly checks no bounds, so the exported functions must.
func TestRowsAndTimesPanicOnWrongLengths(t *testing.T) {
	m := New(moduli[0])
	x, b := make([]uint64, 32), make([]byte, 32*WordBytes)
	tile := func(requests ...[]byte) *Tile {
		t := new(Tile)
		t.Set(m, requests)
		return t
	}
	AtEachLevel(func(l string) {
		for name, f := range map[string]func(){
			"a small modulus":     func() { New(1<<46 - 1) },
			"a large modulus":     func() { New(1 << 48) },
			"a large excess":      func() { New(1<<47 - 1<<17) },
			"no rows":             func() { m.Prepare(x, 0) },
			"parts of rows":       func() { m.Prepare(x, 3) },
			"parts of blocks":     func() { m.Prepare(x, 4) },
			"a short matrix":      func() { m.Prepare(x, 2).Rows(make([][4]uint64, 2), &[4][]byte{b, b, b[: len(b)-1 : len(b)-1], b}) },
			"another dst":         func() { m.Prepare(x, 2).Rows(make([][4]uint64, 1), &[4][]byte{b, b, b, b}) },
			"no requests":         func() { tile() },
			"too many requests":   func() { tile(make([][]byte, MaxRequests+1)...) },
			"unequal requests":    func() { tile(b, b[:96]) },
			"requests of no tile": func() { tile(b[:48]) },
			"a short row":         func() { tile(b).Times(make([][MaxRequests]uint64, 1), [][]byte{b[:len(b)-6]}, nil) },
			"a short dst":         func() { tile(b).Times(make([][MaxRequests]uint64, 1), [][]byte{b, b}, nil) },
			"a short reply":       func() { Pack(m, [][]byte{b, b, b, b[:11:11]}, 0, [][]uint64{x[:2]}, make([][4]uint64, 2), 1) },
			"short addends":       func() { Pack(m, [][]byte{b, b}, 0, [][]uint64{x[:2], x[:1:1]}, make([][4]uint64, 2), 1) },
			"few sums":            func() { Pack(m, [][]byte{b, b}, 0, [][]uint64{x[:2]}, make([][4]uint64, 2), 2) },
			"a short ahead":       func() { tile(b).Times(make([][MaxRequests]uint64, 2), [][]byte{b, b}, [][]byte{b}) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: %s was accepted", l, name)
					}
				}()
				f()
			}()
		}
	})
}

func FuzzRows(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint16(84), uint8(3))
	f.Add(uint64(1<<48-1), uint64(0), uint16(94), uint8(0))
	f.Fuzz(func(t *testing.T, seed, word uint64, blocks uint16, off uint8) {
		r := rand.New(rand.NewPCG(seed, word))
		m := New(moduli[seed%uint64(len(moduli))])
		testTimes(t, r, m, mould{"", func(r *rand.Rand, q uint64) uint64 {
			if r.IntN(2) == 0 {
				return word % q
			}
			return r.Uint64N(q)
		}}, int(blocks)%300*block, 1+int(off)%MaxRequests, 1+int(off)/MaxRequests)
	})
}

package mod48

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

func TestFields(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	m := New(moduli[0])
	for n := 0; n <= 1504; n += fieldBlock {
		for _, of := range moulds {
			var all big.Int
			want := make([]uint64, n)
			up := r.IntN(64 - FieldBits + 1)
			for i := range want {
				field := of.fill(r, moduli[0]) % (1 << FieldBits)
				if of.name == "largest" {
					field = 1<<FieldBits - 1
				}
				want[i] = field << up
				var x big.Int
				all.Or(&all, x.Lsh(x.SetUint64(field), uint(i*FieldBits)))
			}
			b := placed[byte](n*FieldBits/8, n%64)
			all.FillBytes(b)
			slices.Reverse(b)
			before := bytes.Clone(b)
			AtEachLevel(func(l string) {
				got := placed[uint64](n+1, n%8)
				got[n] = 7
				m.Fields(got[:n], b, up)
				if !slices.Equal(got[:n], want) || got[n] != 7 {
					t.Fatalf("%v, %d fields shifted by %d: wrong fields, or writes beyond them", l, n, up)
				}
			})
			if !bytes.Equal(b, before) {
				t.Fatalf("%d fields were written to", n)
			}
		}
	}
}

func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, q := range moduli {
		m, drop := New(q), 64-bits.Len64(q)
		for n := 0; n <= 1504; n += 16 {
			for _, of := range moulds {
				want := words(r, q, n, 0, of)
				b := placed[byte](8*n, n/16)
				for _, large := range []uint64{0, q, 1<<(64-drop) - 1} {
					good := large == 0
					if at := 0; n > 0 && !good {
						at = r.IntN(n)
						want[at] = large
					}
					for i, x := range want {
						binary.LittleEndian.PutUint64(b[8*i:], x<<drop|r.Uint64()>>(64-drop))
					}
					AtEachLevel(func(l string) {
						got := placed[uint64](n+1, n/16%8)
						got[n] = 7
						if m.Cut(got[:n], b) != (good || n == 0) || !slices.Equal(got[:n], want) || got[n] != 7 {
							t.Fatalf("%v, %d words below %d, one of them %d: wrong words or a wrong verdict", l, n, q, large)
						}
						own := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(got))), 8*n)
						copy(own, b)
						if m.Cut(got[:n], own) != (good || n == 0) || !slices.Equal(got[:n], want) {
							t.Fatalf("%v, %d words below %d, in place: wrong words or a wrong verdict", l, n, q)
						}
					})
				}
			}
		}
	}
}

// rootsOf returns k roots in the order of NewTransform, from a ψ with ψ^k = −1.
func rootsOf(q uint64, k int) []uint64 {
	modulus := new(big.Int).SetUint64(q)
	psi := new(big.Int)
	for g := int64(2); ; g++ {
		psi.Exp(big.NewInt(g), new(big.Int).SetUint64((q-1)/uint64(2*k)), modulus)
		if new(big.Int).Exp(psi, big.NewInt(int64(k)), modulus).Uint64() == q-1 {
			break
		}
	}
	roots := make([]uint64, k)
	for i := range roots {
		reversed := int64(bits.Reverse16(uint16(i)) >> (17 - bits.Len(uint(k))))
		roots[i] = new(big.Int).Exp(psi, big.NewInt(reversed), modulus).Uint64()
	}
	return roots
}

// The expected values come from Horner's rule in big integers.
func TestEvaluate(t *testing.T) {
	for _, q := range moduli[:2] { // which have roots
		for k := 2; k <= maxPoints; k *= 2 {
			m, modulus := New(q), new(big.Int).SetUint64(q)
			transform := m.NewTransform(rootsOf(q, k))
			for i, of := range moulds {
				t.Run(fmt.Sprintf("%d/%d/%s", q, k, of.name), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(i), q))
					width := columns * (1 + (k+i)%3)
					p := words(r, q, k*width, i, of)
					want := make([]uint64, len(p))
					var value, point big.Int
					for row := range k {
						// The points are the odd powers of ψ = roots[k/2], in
						// bit-reversed order.
						odd := 2*int64(bits.Reverse16(uint16(row))>>(17-bits.Len(uint(k)))) + 1
						point.Exp(new(big.Int).SetUint64(transform.roots[k/2][0]), big.NewInt(odd), modulus)
						for column := range width {
							value.SetUint64(0)
							for c := k - 1; c >= 0; c-- {
								value.Add(value.Mul(&value, &point), new(big.Int).SetUint64(p[c*width+column]))
								value.Mod(&value, modulus)
							}
							want[row*width+column] = value.Uint64()
						}
					}
					AtEachLevel(func(l string) {
						got := placed[uint64](len(p)+1, i)
						copy(got, p)
						got[len(p)] = 7
						transform.Evaluate(got[:len(p)], k)
						if !slices.Equal(got[:len(p)], want) || got[len(p)] != 7 {
							t.Fatalf("%v: wrong values, or writes beyond them", l)
						}
					})
				})
			}
		}
	}
}

// Kernels' bounds must hold for any words as roots.
func TestEvaluateWithAnyRoots(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, q := range moduli {
		for _, of := range moulds {
			for _, half := range [][]uint64{{q / 2}, {q/2 + 1}, {q - 1}, {1}, {q / 2, q/2 + 1}} {
				roots := make([]uint64, maxPoints)
				for i := range roots {
					roots[i] = half[i%len(half)]
				}
				m := New(q)
				transform := m.NewTransform(roots)
				p := words(r, q, maxPoints*columns, 0, of)
				want := slowLevels(q, p, roots)
				AtEachLevel(func(l string) {
					got := slices.Clone(p)
					if transform.Evaluate(got, maxPoints); !slices.Equal(got, want) {
						t.Fatalf("%v, %d, %s, roots %d: wrong values", l, q, of.name, half)
					}
				})
			}
		}
	}
}

// slowLevels computes the butterflies in big integers.
func slowLevels(q uint64, p, roots []uint64) []uint64 {
	p = slices.Clone(p)
	modulus := new(big.Int).SetUint64(q)
	var x, y, w, z big.Int
	for blocks := 1; blocks < len(roots); blocks *= 2 {
		half := len(p) / blocks / 2
		for at := range p {
			j := at / half
			if j%2 == 1 {
				continue
			}
			x.SetUint64(p[at])
			y.Mul(y.SetUint64(p[at+half]), w.SetUint64(roots[blocks+j/2]))
			p[at] = z.Mod(z.Add(&x, &y), modulus).Uint64()
			p[at+half] = z.Mod(z.Sub(&x, &y), modulus).Uint64()
		}
	}
	return p
}

func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, q := range moduli {
		m := New(q)
		for _, of := range moulds {
			lengths := []int{2040, 2048}
			for n := 0; n <= 1504; n += 8 {
				lengths = append(lengths, n)
			}
			for _, n := range lengths {
				rows := 4 * (1 + n/8%3)
				a, b := words(r, q, rows*n, n/8%8, of), words(r, q, rows*n, (n+3)/8%8, of)
				want := make([]uint64, rows)
				for k := range want {
					want[k] = slowDot(q, a[k*n:(k+1)*n], b[k*n:])
				}
				AtEachLevel(func(l string) {
					got := placed[uint64](rows+1, 3)
					got[rows] = 7
					m.Products(got[:rows], a, b)
					if !slices.Equal(got[:rows], want) || got[rows] != 7 {
						t.Fatalf("%v, %s, %d rows of %d words: %d, want %d", l, of.name, rows, n, got, want)
					}
				})
			}
		}
	}
}

func TestOwnerFunctionsPanicOnWrongLengths(t *testing.T) {
	m := New(moduli[0])
	transform := m.NewTransform(make([]uint64, 16))
	x, b := make([]uint64, 256), make([]byte, 52)
	AtEachLevel(func(l string) {
		for name, f := range map[string]func(){
			"too few bytes":            func() { m.Fields(x[:16], b[:51], 0) },
			"too many bytes":           func() { m.Fields(x[:16], append(b, 0), 0) },
			"parts of fields":          func() { m.Fields(x[:8], b[:26], 0) },
			"a long shift":             func() { m.Fields(x[:16], b, 39) },
			"a shift down":             func() { m.Fields(x[:16], b, -1) },
			"words that are not there": func() { m.Cut(x[:16], make([]byte, 127)) },
			"parts of words":           func() { m.Cut(x[:8], make([]byte, 64)) },
			"one root":                 func() { m.NewTransform(make([]uint64, 1)) },
			"three roots":              func() { m.NewTransform(make([]uint64, 3)) },
			"too many roots":           func() { m.NewTransform(make([]uint64, 512)) },
			"a large root":             func() { m.NewTransform([]uint64{1, m.c.q}) },
			"no points":                func() { transform.Evaluate(x, 0) },
			"one point":                func() { transform.Evaluate(x, 1) },
			"three points":             func() { transform.Evaluate(x[:240], 3) },
			"more points":              func() { transform.Evaluate(x, 32) },
			"no words":                 func() { transform.Evaluate(nil, 4) },
			"narrow rows":              func() { transform.Evaluate(x[:128], 16) },
			"a b that is shorter":      func() { m.Products(x[:4], x[:32], x[:24]) },
			"an odd row":               func() { m.Products(x[:4], x[:16], x[:16]) },
			"three rows":               func() { m.Products(x[:3], x[:24], x[:24]) },
			"uneven rows":              func() { m.Products(x[:4], x[:33], x[:33]) },
			"long rows":                func() { m.Products(x[:4], make([]uint64, 4*2056), make([]uint64, 4*2056)) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: %s: taken", l, name)
					}
				}()
				f()
			}()
		}
	})
}

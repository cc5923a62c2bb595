package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func eachMachine(t *testing.T, f func(t *testing.T, l level, m *machine, r *rand.Rand)) {
	t.Helper()
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range levels {
		t.Run(l.name, func(t *testing.T) {
			f(t, l, newMachine(files[strings.ToLower(l.name)+"_amd64.s"]), rand.New(rand.NewPCG(1, uint64(l.lanes))))
		})
	}
}

func randoms(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func words(x []int) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func agree(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= 1e-5*(1+math.Abs(w))) {
			t.Fatalf("%s: value %d is %g, want %g", what, i, got[i], w)
		}
	}
}

func TestTilesInTheMachine(t *testing.T) {
	eachMachine(t, func(t *testing.T, l level, m *machine, r *rand.Rand) {
		for vectors := 1; vectors <= 2; vectors++ {
			for rows := 1; rows <= l.rows; rows++ {
				for _, k := range []int{1, 2, 5} {
					m.tile(t, l, r, rows, vectors, k)
				}
			}
		}
	})
}

func (m *machine) tile(t *testing.T, l level, r *rand.Rand, rows, vectors, k int) {
	wide := vectors * l.lanes
	ldb, ldc := wide+2, wide+3
	a, b, c, each := randoms(r, k*rows), randoms(r, (k-1)*ldb+wide), randoms(r, (rows-1)*ldc+wide), randoms(r, rows)
	for _, oneEach := range []bool{false, true} {
		m.reset()
		to := m.floats(c)
		from, step := to, 4*ldc
		if oneEach {
			from, step = m.floats(each), -1
		}
		m.call(l.tileName(rows, vectors), k, m.floats(a), m.floats(b), 4*ldb, 64, 64, to, 4*ldc, from, step, float32(-1.5), float32(2))
		got := m.read(to, len(c))
		for i := range rows {
			var want []float64
			for j := range wide {
				sum := float64(c[i*ldc+j])
				if oneEach {
					sum = float64(each[i])
				}
				for p := range k {
					sum += float64(a[p*rows+i]) * float64(b[p*ldb+j])
				}
				want = append(want, min(max(sum, -1.5), 2))
			}
			agree(t, fmt.Sprintf("%s, k = %d, row %d", l.tileName(rows, vectors), k, i), got[i*ldc:], want)
			for j := i*ldc + wide; j < min((i+1)*ldc, len(c)); j++ {
				if got[j] != c[j] {
					t.Fatalf("%s writes between rows", l.tileName(rows, vectors))
				}
			}
		}
	}
}

func TestWideTilesInTheMachine(t *testing.T) {
	eachMachine(t, func(t *testing.T, l level, m *machine, r *rand.Rand) {
		bits := func(x []float32) (b []byte) {
			for _, v := range x {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(v)))
			}
			return b
		}
		width := wideVectors * l.lanes / 2
		for rows := 1; rows <= l.wide; rows++ {
			const k = 3
			ldc := width + 2
			a, b, c := randoms(r, k*rows), randoms(r, k*width), randoms(r, (rows-1)*ldc+width)
			m.reset()
			to := m.grant(bits(c))
			m.call(l.wideName(rows), k, m.grant(bits(a)), m.grant(bits(b)), to, 8*ldc)
			for i := range c {
				want := float64(c[i])
				for p := range k {
					if j := i % ldc; j < width {
						want += float64(a[p*rows+i/ldc]) * float64(b[p*width+j])
					}
				}
				if got := math.Float64frombits(binary.LittleEndian.Uint64(m.at(to+8*uint64(i), 8))); math.Abs(got-want) > 1e-12 {
					t.Fatalf("%d rows: value %d is %g, want %g", rows, i, got, want)
				}
			}
		}
	})
}

func TestPackingInTheMachine(t *testing.T) {
	eachMachine(t, func(t *testing.T, l level, m *machine, r *rand.Rand) {
		for vectors := 1; vectors <= 2; vectors++ {
			wide, offsets := vectors*l.lanes, []int{3, 0, 7}
			x := randoms(r, wide+7)
			m.reset()
			dst := m.floats(make([]float32, 3*wide))
			m.call(fmt.Sprintf("pack%d%s", wide, l.name), dst, m.floats(x), m.grant(words(offsets)), len(offsets))
			for i, o := range offsets {
				for j, v := range m.read(dst, 3*wide)[i*wide:][:wide] {
					if v != x[o+j] {
						t.Fatalf("row %d, value %d is %g, want %g", i, j, v, x[o+j])
					}
				}
			}
		}
	})
}

func TestVectorsInTheMachine(t *testing.T) {
	eachMachine(t, func(t *testing.T, l level, m *machine, r *rand.Rand) {
		for vectors := range 10 {
			n := vectors * l.lanes
			x, y := randoms(r, n), randoms(r, n)
			var dot float64
			var axpy []float64
			for i, v := range x {
				dot += float64(v) * float64(y[i])
				axpy = append(axpy, 2.5*float64(v)+float64(y[i]))
			}
			m.reset()
			m.call("dot"+l.name, m.floats(x), m.floats(y), vectors)
			agree(t, "dot", []float32{math.Float32frombits(uint32(m.result))}, []float64{dot})
			m.reset()
			to := m.floats(y)
			m.call("axpy"+l.name, float32(2.5), m.floats(x), to, vectors)
			agree(t, "axpy", m.read(to, n), axpy)
			var line, times, larger []float64
			largest := math.Inf(-1)
			for i, v := range x {
				line = append(line, min(max(2.5*float64(v)+0.5, -1), 2))
				times, larger = append(times, float64(v)*float64(y[i])), append(larger, float64(max(v, y[i])))
				largest = max(largest, float64(v))
			}
			m.reset()
			to = m.floats(make([]float32, n))
			m.call("line"+l.name, to, m.floats(x), float32(2.5), float32(0.5), float32(-1), float32(2), vectors)
			agree(t, "line", m.read(to, n), line)
			m.call("times"+l.name, to, m.floats(x), m.floats(y), vectors)
			agree(t, "times", m.read(to, n), times)
			m.call("larger"+l.name, to, m.floats(x), m.floats(y), vectors)
			agree(t, "larger", m.read(to, n), larger)
			m.call("largest"+l.name, m.floats(x), vectors)
			if got := float64(math.Float32frombits(uint32(m.result))); got != largest {
				t.Fatalf("the largest is %g, want %g", got, largest)
			}
			m.reset()
			var mean []int
			var centred []float64
			for i, v := range x {
				mean = append(mean, int(math.Float64bits(float64(i))))
				centred = append(centred, (float64(v)-float64(i))*0.25)
			}
			to = m.floats(make([]float32, n))
			m.call("centre"+l.name, to, m.floats(x), m.grant(words(mean)), 0.25, vectors)
			agree(t, "centre", m.read(to, n), centred)
			m.reset()
			wide := m.grant(words(make([]int, n))) // zeros, as bits
			m.call("widen"+l.name, wide, m.floats(x), vectors)
			for i, v := range x {
				if got := math.Float64frombits(binary.LittleEndian.Uint64(m.at(wide+8*uint64(i), 8))); got != float64(v) {
					t.Fatalf("widen makes %g of value %d, want %g", got, i, v)
				}
			}
		}
	})
}

func TestFunctionsInTheMachine(t *testing.T) {
	eachMachine(t, func(t *testing.T, l level, m *machine, _ *rand.Rand) {
		for name, f := range map[string]func(float64) float64{
			"exp": math.Exp, "erf": math.Erf, "tanh": math.Tanh,
			"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
			"gelu":    func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) },
		} {
			var x []float32
			var want []float64
			for i := range 16 * l.lanes {
				x = append(x, float32(i-8*l.lanes)/float32(l.lanes))
				want = append(want, f(float64(x[i])))
			}
			m.reset()
			out := m.floats(make([]float32, len(x)))
			m.call(name+l.name, out, m.floats(x), len(x)/l.lanes)
			agree(t, name, m.read(out, len(x)), want)
		}
	})
}

// TestWinogradInTheMachine compares each transform with its matrices.
func TestWinogradInTheMachine(t *testing.T) {
	// For each point, the numerator of its Lagrange polynomial, the powers that
	// evaluate a result, and the powers over the polynomial's denominator.
	points := []float64{0, a, -a, b, -b}
	var forth, kernel [][]float64
	back := make([][]float64, 4)
	for i := range 6 {
		polynomial, denominator := []float64{1, 0, 0, 0, 0, 0}, 1.0
		for j, p := range points {
			if j != i {
				for d := 5; d > 0; d-- {
					polynomial[d] = polynomial[d-1] - p*polynomial[d]
				}
				polynomial[0] *= -p
				if i < 5 {
					denominator *= points[i] - p
				}
			}
		}
		forth = append(forth, polynomial)
		for d := range back {
			if i < 5 {
				back[d] = append(back[d], math.Pow(points[i], float64(d)))
			} else {
				back[d] = append(back[d], float64(d/3))
			}
		}
		if i == 5 {
			kernel = append(kernel, []float64{0, 0, 1})
		} else {
			kernel = append(kernel, []float64{1 / denominator, points[i] / denominator, points[i] * points[i] / denominator})
		}
	}
	both := func(matrix [][]float64, i, j int, x func(i, j int) float32) (sum float64) {
		for a, f := range matrix[i] {
			for b, g := range matrix[j] {
				sum += f * g * float64(x(a, b))
			}
		}
		return sum
	}
	eachMachine(t, func(t *testing.T, l level, m *machine, r *rand.Rand) {
		for vectors := range 3 {
			n := vectors * l.lanes
			step, row := n+3, 2
			plane := n + row
			x := randoms(r, 36*step)
			m.reset()
			to, from := m.floats(make([]float32, 36*step)), m.floats(x)
			m.call("winogradIn"+l.name, to, from, 4*plane, 4*row, 4*step, vectors)
			got := m.read(to, 36*step)
			m.call("winogradWeights"+l.name, to, from, 4*step, 4*plane, vectors)
			weights := m.read(to, 36*step)
			line := 4*n + 5
			out := m.floats(make([]float32, 4*line))
			m.call("winogradOut"+l.name, out, from, 4*step, 4*line, vectors, float32(0.5), float32(-9), float32(9))
			results := m.read(out, 4*line)
			fours := m.floats(make([]float32, 6*plane))
			m.call("fours"+l.name, fours, m.floats(x[:4*n+5]), 4*plane, 4, 4, 2, vectors)
			const rows = 3
			copied := m.floats(randoms(r, rows*(n+2)+l.lanes))
			m.call("copyRows"+l.name, copied, m.floats(x), 4*(n+2), 4*(n+5), 4*n, rows, vectors, float32(7))
			for i, got := range m.read(copied, rows*(n+2)) {
				if row, at := i/(n+2), i%(n+2); at < n {
					agree(t, "copyRows", []float32{got}, []float64{float64(x[row*(n+5)+at])})
				} else {
					agree(t, "copyRows", []float32{got}, []float64{7})
				}
			}
			even, odd := m.floats(make([]float32, n)), m.floats(make([]float32, n))
			m.call("halves"+l.name, even, odd, m.floats(x[:2*n]), vectors)
			for at := range n {
				for i := range 36 {
					want := both(forth, i/6, i%6, func(a, b int) float32 { return x[(a%4*6+b)*plane+a/4*row+at] })
					agree(t, "winogradIn", got[i*step+at:], []float64{want})
					want = both(kernel, i/6, i%6, func(a, b int) float32 { return x[(3*a+b)*plane+at] })
					agree(t, "winogradWeights", weights[i*step+at:], []float64{want})
				}
				for i := range 16 {
					want := both(back, i/4, i%4, func(a, b int) float32 { return x[(6*a+b)*step+at] }) + 0.5
					agree(t, "winogradOut", results[i/4*line+4*at+i%4:], []float64{min(max(want, -9), 9)})
				}
				for j := range 6 {
					agree(t, "fours", m.read(fours, 6*plane)[j*plane+at+1:], []float64{float64(x[4*at+j+1])})
				}
				agree(t, "halves", m.read(even, n)[at:], []float64{float64(x[2*at])})
				agree(t, "halves", m.read(odd, n)[at:], []float64{float64(x[2*at+1])})
			}
		}
	})
}

func TestWindowsInTheMachine(t *testing.T) {
	eachMachine(t, func(t *testing.T, l level, m *machine, r *rand.Rand) {
		if l.lanes != 8 {
			t.Skip("this level uses the kernels for AVX2")
		}
		for name := range m.functions {
			for _, max := range []bool{false, true} {
				var size, stride int
				format := map[bool]string{false: "products%dx%dAVX2", true: "maxima%dx%dAVX2"}[max]
				if n, _ := fmt.Sscanf(name, format, &size, &stride); n == 2 {
					m.window(t, r, name, max, size, stride)
				}
			}
		}
	})
}

// window computes two rows of an image at row 1, column 1 of a padded one.
func (m *machine) window(t *testing.T, r *rand.Rand, name string, max bool, size, stride int) {
	const high, wide, results = 5, 9, 2
	x, w, masks := randoms(r, high*wide), randoms(r, size*size), []int(nil)
	for register := range (size + stride - 1) / stride * stride {
		for i := 0; i < 8; i += 2 {
			mask := 0
			for half := range 2 {
				if column := register + register%stride*7 + i + half - 1; column >= 0 && column < wide {
					mask |= math.MaxUint32 << (32 * half)
				}
			}
			masks = append(masks, mask)
		}
	}
	m.reset()
	start, lo, padding, before := float32(0.5), float32(-2), make([]float32, 24), (size-1)/stride
	if max {
		for i := range padding {
			padding[i] = -5
		}
	}
	out := m.floats(make([]float32, 8*results))
	m.call(name, out, m.floats(x), m.floats(w), m.floats(padding), m.grant(words(masks)), -4*(wide+1), -1, high, 4*wide, 32,
		before, before+results, 0, start, lo, float32(2))
	var want []float64
	for i := range 8 * results {
		value := 0.5
		for tap, by := range w {
			if y, x0 := i/8*stride+tap/size-1, i%8*stride+tap%size-1; y >= 0 && y < high && x0 >= 0 && x0 < wide {
				if v := float64(x[y*wide+x0]); !max {
					value += float64(by) * v
				} else if v > value {
					value = v
				}
			}
		}
		want = append(want, math.Min(math.Max(value, -2), 2))
	}
	agree(t, name, m.read(out, 8*results), want)
}

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
	ldc := wide + 3
	a, b, c, each := randoms(r, k*rows), randoms(r, k*wide), randoms(r, (rows-1)*ldc+wide), randoms(r, rows)
	for _, oneEach := range []bool{false, true} {
		m.reset()
		to := m.floats(c)
		from, step := to, 4*ldc
		if oneEach {
			from, step = m.floats(each), -1
		}
		m.call(l.tileName(rows, vectors), k, m.floats(a), m.floats(b), to, 4*ldc, from, step, float32(-1.5), float32(2))
		got := m.read(to, len(c))
		for i := range rows {
			var want []float64
			for j := range wide {
				sum := float64(c[i*ldc+j])
				if oneEach {
					sum = float64(each[i])
				}
				for p := range k {
					sum += float64(a[p*rows+i]) * float64(b[p*wide+j])
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
		for vectors := range 20 {
			n, offsets := vectors*l.lanes, []int{0, 5, 2}
			x, w := randoms(r, n+5), randoms(r, 3)
			m.reset()
			out := m.floats(make([]float32, n))
			m.call("taps"+l.name, out, m.floats(x), m.grant(words(offsets)), m.floats(w), 3, vectors, float32(0.5), float32(-1), float32(1))
			var want []float64
			for i := range n {
				sum := 0.5
				for p, o := range offsets {
					sum += float64(w[p]) * float64(x[o+i])
				}
				want = append(want, min(max(sum, -1), 1))
			}
			agree(t, "taps", m.read(out, n), want)
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

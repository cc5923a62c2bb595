package pca

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"cpar"
)

// sloped returns n rows whose variances fall as decay^i along rotated axes,
// around a non-zero mean.
func sloped(n, in int, decay float64, seed uint64) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	reflect := make([]float64, in) // a Householder reflection mixes the axes
	length := 0.0
	for j := range reflect {
		reflect[j] = rng.NormFloat64()
		length += reflect[j] * reflect[j]
	}
	rows := make([][]float32, n)
	row := make([]float64, in)
	for i := range rows {
		dot := 0.0
		for j := range row {
			row[j] = rng.NormFloat64() * math.Pow(decay, float64(j)/2)
			dot += row[j] * reflect[j]
		}
		rows[i] = make([]float32, in)
		for j := range row {
			rows[i][j] = float32(row[j] - 2*dot/length*reflect[j] + float64(j%3))
		}
	}
	return rows
}

func exactly(rows [][]float32) (values []float64, vectors *mat.Dense) {
	n, in := len(rows), len(rows[0])
	mean := make([]float64, in)
	for _, row := range rows {
		for j, v := range row {
			mean[j] += float64(v) / float64(n)
		}
	}
	covariance := mat.NewSymDense(in, nil)
	for _, row := range rows {
		x := mat.NewVecDense(in, nil)
		for j, v := range row {
			x.SetVec(j, float64(v)-mean[j])
		}
		covariance.SymRankOne(covariance, 1/float64(n), x)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		panic("no eigenvalues")
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors
}

func captured(t *testing.T, b *Basis, rows [][]float32) float64 {
	t.Helper()
	projections, err := b.ProjectAll(rows)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, p := range projections {
		for _, v := range p {
			sum += v * v
		}
	}
	return sum / float64(len(rows))
}

func mustFit(t testing.TB, rows [][]float32, out int, seed uint64) *Basis {
	t.Helper()
	b, err := Fit(t.Context(), rows, out, seed)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func checkOrthonormal(t *testing.T, b *Basis, rank int) {
	t.Helper()
	if b.Rank() != rank {
		t.Fatalf("rank %d, want %d", b.Rank(), rank)
	}
	for i := range b.Out() {
		for k := range i + 1 {
			dot := 0.0
			for j, v := range b.Component(i) {
				dot += float64(v) * float64(b.Component(k)[j])
			}
			want := 0.0
			if i == k && i < rank {
				want = 1
			}
			if math.Abs(dot-want) > 1e-5 {
				t.Fatalf("components %d and %d: inner product %g, want %g", i, k, dot, want)
			}
		}
	}
}

func TestFitEqualsExactDecomposition(t *testing.T) {
	for _, c := range []struct{ n, in, out int }{{60, 20, 5}, {60, 20, 20}, {200, 40, 12}, {15, 40, 14}, {3, 2, 1}, {5, 1, 1}} {
		rows := sloped(c.n, c.in, 0.6, uint64(c.n))
		b := mustFit(t, rows, c.out, 7)
		values, vectors := exactly(rows)
		checkOrthonormal(t, b, c.out)
		for k := range c.out {
			exact := mat.Col(nil, c.in-1-k, vectors)
			dot := 0.0
			for j, v := range b.Component(k) {
				dot += exact[j] * float64(v)
			}
			// Float32 products resolve only directions with a variance well
			// above 10⁻⁶ of the largest.
			if values[c.in-1-k] > 1e-4*values[c.in-1] && math.Abs(math.Abs(dot)-1) > 1e-4 {
				t.Errorf("%d × %d: component %d has cosine %g with the exact one", c.n, c.in, k, dot)
			}
		}
	}
}

func TestFitCapturesVariance(t *testing.T) {
	// Many more dimensions than the Krylov space, with slowly falling
	// variances.
	rows := sloped(2000, 400, 0.98, 3)
	values, _ := exactly(rows)
	for out, share := range map[int]float64{4: 0.995, 16: 0.999, 64: 0.999} {
		b := mustFit(t, rows, out, 1)
		checkOrthonormal(t, b, out)
		best := 0.0
		for _, v := range values[len(values)-out:] {
			best += v
		}
		if got := captured(t, b, rows); got < share*best || got > 1.00001*best {
			t.Errorf("%d components capture %.6f of what the best do", out, got/best)
		}
	}
}

func TestComponentsFallInVariance(t *testing.T) {
	rows := sloped(400, 60, 0.9, 5)
	projections, err := mustFit(t, rows, 20, 1).ProjectAll(rows)
	if err != nil {
		t.Fatal(err)
	}
	last := math.Inf(1)
	for k := range 20 {
		sum := 0.0
		for _, p := range projections {
			sum += p[k] * p[k]
		}
		if sum > last {
			t.Errorf("component %d has more variance than component %d", k, k-1)
		}
		last = sum
	}
}

func TestFewDirections(t *testing.T) {
	one := sloped(1, 30, 0.9, 1)
	plane := sloped(2, 30, 1, 2)
	var flat [][]float32 // combinations of two rows
	for i := range 50 {
		row := make([]float32, 30)
		for j := range row {
			row[j] = float32(i)*plane[0][j] + float32(i*i%7)*plane[1][j]
		}
		flat = append(flat, row)
	}
	thick := sloped(1, 700, 1, 3)
	for i := range 2500 {
		row := make([]float32, 700)
		for j := range row {
			row[j] = float32(i%100) * thick[0][j]
		}
		thick = append(thick, row)
	}
	identical := make([][]float32, 1001)
	for i := range identical {
		identical[i] = one[0]
	}
	for name, c := range map[string]struct {
		rows [][]float32
		rank int
	}{
		"one row": {one, 0}, "identical rows": {identical, 0}, "two rows": {plane, 1},
		"fewer rows than components": {sloped(5, 30, 0.9, 4), 4}, "a plane": {flat, 2}, "a line": {thick[1:], 1},
		"one value": {[][]float32{{1}, {2}}, 1},
	} {
		out := min(12, len(c.rows[0]))
		b := mustFit(t, c.rows, out, 1)
		checkOrthonormal(t, b, c.rank)
		total := 0.0
		values, _ := exactly(c.rows[:min(100, len(c.rows))])
		for _, v := range values {
			total += v
		}
		if got := captured(t, b, c.rows); math.Abs(got-total) > 1e-4*total+1e-9 {
			t.Errorf("%s: captured %g of %g", name, got, total)
		}
	}
}

func TestFitAtAnyScale(t *testing.T) {
	rows := sloped(40, 12, 0.5, 1)
	want := mustFit(t, rows, 3, 1)
	for _, scale := range []float32{1e-30, 1e30} {
		scaled := make([][]float32, len(rows))
		for i, row := range rows {
			for _, v := range row {
				scaled[i] = append(scaled[i], v*scale)
			}
		}
		b := mustFit(t, scaled, 3, 1)
		for i, v := range b.components {
			if math.Abs(float64(v-want.components[i])) > 1e-4 {
				t.Fatalf("scaled by %g: component value %d is %g, want %g", scale, i, v, want.components[i])
			}
		}
	}
}

func TestFitIsReproducible(t *testing.T) {
	rows := sloped(2500, 200, 0.95, 9)
	want := mustFit(t, rows, 10, 1)
	cores := runtime.GOMAXPROCS(1)
	got := mustFit(t, rows, 10, 1)
	runtime.GOMAXPROCS(cores)
	if !slices.Equal(got.components, want.components) || !slices.Equal(got.mean, want.mean) {
		t.Error("the same rows and seed gave another basis on one core")
	}
	// Another seed gives the same directions, including signs.
	other := mustFit(t, rows, 10, 2)
	if slices.Equal(other.components, want.components) {
		t.Error("the seed has no effect")
	}
	for k := range 3 {
		dot := 0.0
		for j, v := range want.Component(k) {
			dot += float64(v) * float64(other.Component(k)[j])
		}
		if dot < 0.99 {
			t.Errorf("component %d: cosine %g between two seeds", k, dot)
		}
	}
	for k := range 10 {
		row := want.Component(k)
		if largest := slices.MaxFunc(row, func(a, b float32) int {
			return int(math.Copysign(1, math.Abs(float64(a))-math.Abs(float64(b))))
		}); largest < 0 {
			t.Errorf("component %d: entry of largest magnitude is %g", k, largest)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		rows [][]float32
		out  int
	}{
		"no rows": {nil, 1}, "empty rows": {[][]float32{{}}, 1}, "no components": {[][]float32{{1, 2}}, 0},
		"too many components": {[][]float32{{1, 2}}, 3}, "ragged": {[][]float32{{1, 2}, {1}}, 1},
		"NaN": {[][]float32{{1, 2}, {nan, 1}}, 1}, "infinite": {[][]float32{{float32(math.Inf(-1)), 2}}, 1},
	} {
		if _, err := Fit(t.Context(), c.rows, c.out, 1); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProject(t *testing.T) {
	rows := sloped(100, 50, 0.9, 2)
	b := mustFit(t, rows, 8, 1)
	all, err := b.ProjectAll(rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		got := b.Project(row)
		if !slices.Equal(got, all[i]) {
			t.Fatalf("row %d: Project and ProjectAll differ", i)
		}
		for k, v := range got {
			want := 0.0
			for j, c := range b.Component(k) {
				want += float64(c) * (float64(row[j]) - float64(b.Mean()[j]))
			}
			if math.Abs(v-want) > 1e-12 {
				t.Fatalf("row %d, component %d: %g, want %g", i, k, v, want)
			}
		}
	}
	if _, err := b.ProjectAll([][]float32{rows[0], rows[1][:49]}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a short row: %v", err)
	}
	if none, err := b.ProjectAll(nil); err != nil || len(none) != 0 {
		t.Errorf("no rows: %v, %v", none, err)
	}
}

func BenchmarkFit(b *testing.B) {
	rows := haarLike(20000)
	for _, out := range []int{32, 128, 512} {
		b.Run(map[int]string{32: "PCA-128", 128: "PCA-32", 512: "PCA-8"}[out], func(b *testing.B) {
			for b.Loop() {
				mustFit(b, rows, out, 1)
			}
		})
	}
}

func haarLike(n int) [][]float32 {
	rng := rand.New(rand.NewPCG(1, 1))
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = make([]float32, 4096)
		for j := range rows[i] {
			rows[i][j] = (rng.Float32() - 0.5) / float32(1+j/64)
		}
	}
	return rows
}

func BenchmarkProject(b *testing.B) {
	rows := haarLike(200)
	basis := mustFit(b, rows, 128, 1)
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			basis.Project(rows[0])
		}
	})
	b.Run("all-200", func(b *testing.B) {
		for b.Loop() {
			if _, err := basis.ProjectAll(rows); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCentre(b *testing.B) {
	rows := haarLike(4000)
	for b.Loop() {
		if _, err := centre(rows); err != nil {
			b.Fatal(err)
		}
	}
}

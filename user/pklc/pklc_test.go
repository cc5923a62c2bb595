package pklc

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cpar"
	"cpar/user/ive"
	"cpar/user/pl1c"
)

func secret(b byte) (s [32]byte) {
	for i := range s {
		s[i] = b + byte(5*i)
	}
	return s
}

func mustKey(t testing.TB, p Params) *Key {
	t.Helper()
	k, err := KeyGen(secret(1), p)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func histogram(r *rand.Rand, n int) []float64 {
	v, sum := make([]float64, n), 0.0
	for i := range v {
		v[i] = r.ExpFloat64() * r.ExpFloat64()
		sum += v[i]
	}
	for i := range v { // smoothed as the pipeline does
		v[i] = (v[i]/sum + 1e-3) / (1 + 1e-3*float64(n))
	}
	return v
}

// tolerance bounds the error of a divergence in nats at this scale: the rounding of v and
// of the logarithms, then ε and the noise.
func tolerance(p Params, scale int64, noisy bool) float64 {
	bins := float64(p.Dim)
	rounding := bins*math.Ldexp(0.5, -ValueBits)*(2*MaxLog+1) +
		(0.5*math.Ldexp(1, ValueBits)+bins)/(float64(scale)*p.Unit) + 1/p.Unit
	if !noisy {
		return rounding
	}
	record := math.Ldexp(1, ValueBits) + p.Unit*(6+p.Offset) + ive.EpsilonBound
	request := bins*float64(scale)*math.Ldexp(p.Unit, -ValueBits)*MaxLog + float64(scale) + 3
	return rounding + (p.Cipher().WorstNoise(record, request)+3*ive.EpsilonBound)/(float64(scale)*p.Unit)
}

func TestComparisonsAreTheirTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range []Params{Paper(), {Dim: 4, Unit: 1 << 20, Offset: 2, Shift: 14}, {Dim: 1, Unit: 1 << 16, Offset: 0, Shift: 12}} {
		k, noise := mustKey(t, p), ive.NewNoise(secret(2))
		exact := ive.InsecureNoNoise(secret(3))
		for round := range 20 {
			v, c, scale := histogram(r, p.Dim), histogram(r, p.Dim), noise.Scale()
			h := Plane{Coordinate: r.IntN(p.Dim), Height: r.Float64()}
			if round == 0 {
				h.Height = 0
				v = make([]float64, p.Dim)
				v[0] = 1 // 0·log 0 = 0
			}
			for _, n := range []*ive.Noise{noise, exact} {
				record, err1 := k.EncryptRecord(v, n)
				plane, err2 := k.EncryptPlane(h, n)
				q, err3 := k.Request(c, scale, n)
				if err := errors.Join(err1, err2, err3); err != nil {
					t.Fatal(err)
				}
				limit := tolerance(p, scale, n == noise)
				if got, want := p.Divergence(p.Compare(record, q), scale), KL(v, c); math.Abs(got-want) > limit {
					t.Errorf("type 1: %.6f, want %.6f ± %.1e", got, want, limit)
				}
				if got, want := p.Divergence(p.Compare(plane, q), scale), Term(h.Height, c[h.Coordinate]); math.Abs(got-want) > limit {
					t.Errorf("type 2: %.6f, want %.6f ± %.1e", got, want, limit)
				}
			}
		}
	}
}

// Erratum: Comp = r_s·(KL − r) − 3ε, as in PL1C-RF, so only r is added, and only once.
func TestErratumDivergenceFromComp(t *testing.T) {
	p := Paper()
	k, noise := mustKey(t, p), ive.InsecureNoNoise(secret(2))
	v, c := histogram(rand.New(rand.NewPCG(3, 4)), p.Dim), histogram(rand.New(rand.NewPCG(5, 6)), p.Dim)
	record, err1 := k.EncryptRecord(v, noise)
	q, err2 := k.Request(c, 1500, noise)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	comp := p.Compare(record, q)
	if got, want := p.Divergence(comp, 1500), KL(v, c); math.Abs(got-want) > 1e-3 {
		t.Errorf("divergence %.4f, want %.4f", got, want)
	}
	// The printed form adds r again, and the request's sum of squares.
	printed := 2*p.Offset + float64(comp)/(1500*p.Unit)
	for _, x := range c {
		printed += x * x
	}
	if math.Abs(printed-KL(v, c)) < p.Offset {
		t.Errorf("the printed formula gives %.4f for %.4f", printed, KL(v, c))
	}
}

// Erratum: one s_i indexes both a coordinate of the L1 vector and a bin of the KL vector.
// The two have nothing in common: most indices of one do not exist in the other, and
// where both exist they divide the records differently. So each tool has its own planes.
func TestErratumOneIndexTwoVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	noise := ive.NewNoise(secret(1))
	small := pl1c.Params{Dim: 100, Offset: 100 * 5494, Shift: ive.DistanceShift}
	l1, err := pl1c.KeyGen(secret(2), small)
	if err != nil {
		t.Fatal(err)
	}
	p := Paper()
	kl := mustKey(t, p)
	for _, s := range []int{0, 47, 48, 99} {
		if _, err := l1.EncryptPlane(pl1c.Plane{Coordinate: s, Height: 3}, noise); err != nil {
			t.Errorf("coordinate %d of the L1 vector: %v", s, err)
		}
		_, err := kl.EncryptPlane(Plane{Coordinate: s, Height: 0.1}, noise)
		if exists := s < p.Dim; (err == nil) != exists || err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Errorf("coordinate %d of the KL vector: %v", s, err)
		}
	}
	// Two records that differ only in bin 5 of the histogram lie on the same side of
	// every L1 plane with index 5, but on different sides of the KL plane.
	a, b := histogram(r, p.Dim), histogram(r, p.Dim)
	copy(b, a)
	a[5], a[6] = 0.05, 0.01
	b[5], b[6] = 0.01, 0.05
	z := make([]int16, small.Dim) // one JL vector for both: the L1 features agree
	q, err := l1.Request(z, 1024, noise)
	if err != nil {
		t.Fatal(err)
	}
	plane, err := l1.EncryptPlane(pl1c.Plane{Coordinate: 5, Height: 3}, noise)
	if err != nil {
		t.Fatal(err)
	}
	sameL1 := small.ComparePlane(plane, q)
	const height = 0.03
	klPlane, err := kl.EncryptPlane(Plane{Coordinate: 5, Height: height}, noise)
	if err != nil {
		t.Fatal(err)
	}
	comps := [2]float64{}
	for i, c := range [][]float64{a, b} {
		q, err := kl.Request(c, 1024, noise)
		if err != nil {
			t.Fatal(err)
		}
		comps[i] = p.Divergence(p.Compare(klPlane, q), 1024)
	}
	if (comps[0] < 0) == (comps[1] < 0) {
		t.Errorf("bin 5 does not part the histograms: %v", comps)
	}
	if d := small.Dis(sameL1, 1024); math.Abs(d-9) > 100 {
		t.Errorf("L1 plane 5 is %.0f away for both, want 9", d)
	}
}

// Erratum: one coordinate of KL is no lower bound. A term can exceed the whole
// divergence, since others are negative, or be negative itself.
func TestErratumOneKLTermIsNoLowerBound(t *testing.T) {
	p := Params{Dim: 3, Unit: 1 << 20, Offset: 2, Shift: ive.DistanceShift}
	k, noise := mustKey(t, p), ive.InsecureNoNoise(secret(1))
	v, c := []float64{0.6, 0.2, 0.2}, []float64{0.4, 0.3, 0.3}
	q, err := k.Request(c, 2000, noise)
	if err != nil {
		t.Fatal(err)
	}
	record, err := k.EncryptRecord(v, noise)
	if err != nil {
		t.Fatal(err)
	}
	total := p.Divergence(p.Compare(record, q), 2000)
	for s, bound := range []bool{false, true, true} {
		// The plane passes through the record: the record is as near as its plane allows.
		h, err := k.EncryptPlane(Plane{Coordinate: s, Height: v[s]}, noise)
		if err != nil {
			t.Fatal(err)
		}
		term := p.Divergence(p.Compare(h, q), 2000)
		if bound && term >= 0 {
			t.Errorf("term %d is %.4f, not negative", s, term)
		}
		if !bound && term <= total {
			t.Errorf("term %d is %.4f, the divergence %.4f: no counterexample", s, term, total)
		}
		if sound := CoordinateBound(v[s], c[s]); sound > total+1e-4 || sound <= 0 {
			t.Errorf("bound %d is %.4f, the divergence %.4f", s, sound, total)
		}
	}
}

// CoordinateBound holds for all histograms, and for planes: whatever lies beyond h is at
// least as far away as h.
func TestCoordinateBoundIsSound(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	exceeded := 0
	for range 2000 {
		v, c := histogram(r, 8), histogram(r, 8)
		total := KL(v, c)
		for s := range v {
			if b := CoordinateBound(v[s], c[s]); b > total+1e-12 || b < -1e-15 {
				t.Fatalf("bound %.6f, divergence %.6f", b, total)
			}
			h := c[s] + r.Float64()*(v[s]-c[s]) // a plane between request and record
			if b := CoordinateBound(h, c[s]); b > total+1e-12 {
				t.Fatalf("plane %.6f, divergence %.6f beyond it", b, total)
			}
			if Term(v[s], c[s]) > total {
				exceeded++
			}
		}
	}
	if exceeded < 100 {
		t.Errorf("a single term exceeded the divergence %d times only", exceeded)
	}
}

// The sign in a type 2 record: the term is h·log(h/c), and moving c towards h must bring it to 0.
func TestPlaneTermVanishesOnThePlane(t *testing.T) {
	p := Params{Dim: 2, Unit: 1 << 20, Offset: 1, Shift: ive.DistanceShift}
	k, noise := mustKey(t, p), ive.InsecureNoNoise(secret(1))
	h, err1 := k.EncryptPlane(Plane{Coordinate: 0, Height: 0.25}, noise)
	q, err2 := k.Request([]float64{0.25, 0.75}, 1024, noise)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if d := p.Divergence(p.Compare(h, q), 1024); math.Abs(d) > 1e-4 {
		t.Errorf("on its own plane a request has the term %.5f", d)
	}
}

func TestRefusals(t *testing.T) {
	if err := Paper().Validate(); err != nil {
		t.Error(err)
	}
	for _, p := range []Params{{}, {Dim: 4, Unit: 1 << 24, Offset: 2, Shift: 14}, {Dim: 4, Unit: math.NaN(), Shift: 14},
		{Dim: 4, Unit: 1 << 20, Offset: math.NaN(), Shift: 14}, {Dim: 4, Unit: 1 << 20, Offset: 2, Shift: 16}, {Dim: 4, Unit: 1 << 20, Offset: 2, Shift: 40}} {
		if _, err := KeyGen(secret(1), p); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	p := Params{Dim: 2, Unit: 1 << 20, Offset: 2, Shift: 14}
	k, noise, flat := mustKey(t, p), ive.NewNoise(secret(1)), []float64{0.5, 0.5}
	record := func(v ...float64) error { _, err := k.EncryptRecord(v, noise); return err }
	request := func(scale int64, v ...float64) error { _, err := k.Request(v, scale, noise); return err }
	plane := func(s int, h float64) error { _, err := k.EncryptPlane(Plane{s, h}, noise); return err }
	_, noNoise := k.EncryptRecord(flat, nil)
	_, planeNoNoise := k.EncryptPlane(Plane{0, 0.5}, nil)
	_, requestNoNoise := k.Request(flat, 1024, nil)
	for name, err := range map[string]error{
		"short": record(1), "sum 2": record(1, 1), "negative": record(-0.1, 1), "above 1": record(1.0005, 0), "NaN": record(math.NaN(), 0),
		"no noise": noNoise, "plane without noise": planeNoNoise, "request without noise": requestNoNoise,
		"coordinate": plane(2, 0.5), "coordinate -1": plane(-1, 0.5), "height": plane(0, 1.1), "NaN height": plane(0, math.NaN()),
		"short request": request(1024, 1), "scale": request(1023, 0.5, 0.5), "large scale": request(2048, 0.5, 0.5),
		"log 0": request(1024, 0, 1), "log of little": request(1024, 1e-4, 1), "log of NaN": request(1024, math.NaN(), 1), "log of 2": request(1024, 2, 0.5),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := errors.Join(record(0, 0), record(1, 0), plane(1, 1), plane(1, 0), request(2047, 1, 1e-3)); err != nil {
		t.Errorf("refused at the edge: %v", err)
	}
	if s := fmt.Sprintf("%+v %#v", k, *k); s != "cpar key (redacted) cpar key (redacted)" {
		t.Error(s)
	}
}

func BenchmarkEncryptRecord(b *testing.B) {
	k, n := mustKey(b, Paper()), ive.NewNoise(secret(1))
	v := histogram(rand.New(rand.NewPCG(1, 1)), 48)
	for b.Loop() {
		_, _ = k.EncryptRecord(v, n)
	}
}

func BenchmarkRequest(b *testing.B) {
	k, n := mustKey(b, Paper()), ive.NewNoise(secret(1))
	v := histogram(rand.New(rand.NewPCG(1, 1)), 48)
	for b.Loop() {
		_, _ = k.Request(v, 1500, n)
	}
}

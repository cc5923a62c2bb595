package letter

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar/model/embed"
)

// Each test restores a printed equation or box, or computes its effect.
// docs/PAPER.md lists them.

// Eq. 2 divides each product of elements by w and rounds before it applies the
// key. With S uniform modulo q, the result is a random word modulo q, or some
// 10³⁴ in the integers.
func TestErratumEq2RoundsBeforeTheKey(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const m = 60
	k, own := NewKey(m, [32]byte{1}, nil), NewKey(m, [32]byte{2}, nil)
	a, b := make([]float64, m), make([]float64, m)
	want := 0.0
	for i := range a {
		a[i], b[i] = float64(r.IntN(20)), float64(r.IntN(20))
		want += a[i] * b[i]
	}
	ca, err1 := k.Encrypt(a)
	cb, err2 := own.Encrypt(b)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	ss := k.Evaluation(own)
	printed, integers := InnerPrinted(ss, ca, cb, true), InnerPrinted(ss, ca, cb, false)
	t.Logf("for %g: corrected %.3f, printed %.3g, in the integers %.3g", want, Inner(ss, ca, cb, nil), printed, integers)
	if got := Inner(ss, ca, cb, nil); math.Abs(got-want) > 0.1 {
		t.Errorf("corrected: %g, want %g", got, want)
	}
	if math.Abs(printed-want) < 1e6 || math.Abs(integers) < 1e25 {
		t.Errorf("the printed form gives %g, in the integers %g: no erratum", printed, integers)
	}
}

// With keys of small integers, whose ciphertexts do not wrap, Eq. 2 works as
// printed: rounding changes it by at most half the sum of |SᵀS_s|, in units of
// 1/w.
func TestErratumEq2WorksForASmallKey(t *testing.T) {
	const m = 6
	small := func(seed uint64) *Key {
		r := rand.New(rand.NewPCG(seed, 1))
		lower, upper := newMatrix(m), newMatrix(m) // upper is the transpose of U
		for i := range m {
			for j := range i {
				lower.row(i)[j], upper.row(i)[j] = r.Uint64N(2), r.Uint64N(2)
			}
			lower.row(i)[i], upper.row(i)[i] = 1, 1
		}
		s := upper.invertLower().transpose().times(lower.invertLower(), nil)
		return &Key{S: s, Inverse: lower.times(upper.transpose(), nil), random: rand.NewChaCha8([32]byte{byte(seed)})}
	}
	k, own := small(1), small(2)
	a, b := []float64{3, 5, 2, 7, 1, 4}, []float64{7, 11, 1, 2, 9, 6}
	ca, err1 := k.Encrypt(a)
	cb, err2 := own.Encrypt(b)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if got, want := InnerPrinted(k.Evaluation(own), ca, cb, true), dot(a, b); math.Abs(got-want) > 1e-2 {
		t.Errorf("with small keys, Eq. 2 gives %g, want %g", got, want)
	}
}

// Sec. IV-D: one s_i for V_L1 and V_KL. Most fields of V_L1 are not bins.
func TestErratumOneFieldForTwoVectors(t *testing.T) {
	images := photos(3, smallN, smallM, smallBins)
	if _, _, err := Setup(t.Context(), images, Options{OneKey: true, Printed: Printed{OneField: true}}, nil); err == nil {
		t.Error("every field of V_L1 is a bin of V_KL")
	}
}

// Here one s_i counts through both: the levels first, then the bins.
func TestPlanesOfBinsAreInTheDivergence(t *testing.T) {
	u := system(t, Printed{}).user
	for s, want := range map[int][2]int{0: {0, none}, smallM - 1: {(smallM - 1) % u.L1.M, none}, smallM: {none, 0}, smallM + smallBins - 1: {none, smallBins - 1}} {
		if l1, kl := u.fields(s); l1 != want[0] || kl != want[1] {
			t.Errorf("field %d is coordinate %d and bin %d, want %v", s, l1, kl, want)
		}
	}
}

// The element of Ĥ_i: trees split V_i before the projection, and the element of
// V̂_i with the same number is unrelated to that coordinate. A request on the
// hyperplane is not at distance 0 from it.
func TestErratumPlaneElementIsAnotherCoordinate(t *testing.T) {
	s := system(t, Printed{})
	u := s.user
	a := s.images[0]
	c := s.images[1]
	c.Levels = slices.Clone(c.Levels)
	worst := 0.0
	for field := range smallM {
		c.Levels[field] = a.Levels[field]
		x, err1 := u.Prepare(a)
		y, err2 := u.Prepare(c)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		worst = max(worst, math.Abs(x.L1[field]-y.L1[field]))
	}
	if worst < 0.05 {
		t.Errorf("equal coordinates have equal elements of V̂ within %g", worst)
	}
}

// The Queue push process prints Comp_qL = −2·V_qL·V_qLᵀ + V_cur·V_sᵀ. In the
// clear it is independent of V_qL's distance, so nearly every node is nearer and
// the last in Queue is mostly the last visited. The cloud cannot compute it.
func TestErratumCompQLWithoutTheRequest(t *testing.T) {
	printed := Printed{CompQLWithoutRequest: true}
	last := 0
	for _, image := range photos(3, smallN+12, smallM, smallBins)[smallN:] {
		s := system(t, printed)
		_, m, err := s.user.Request(image)
		if err != nil {
			t.Fatal(err)
		}
		with := s.inTheClear(t, m, Search{L: smallL, AP: 1})
		if order := with.Stats.Order; with.Images[smallL-1] == order[len(order)-1] {
			last++
		}
	}
	if last < 9 {
		t.Errorf("the last in Queue is the last visited for %d requests of 12", last)
	}
	s := system(t, printed)
	q, _, err := s.user.Request(s.requests[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.cloud.Annotate(q, Search{L: smallL, AP: 1}); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
}

// Comp_qL must add parts of one image: Comp_cur,KL belongs to another.
func TestErratumCompQLMixesTwoImages(t *testing.T) {
	s := system(t, Printed{})
	_, m, err := s.user.Request(s.requests[0])
	if err != nil {
		t.Fatal(err)
	}
	twin, err := s.user.Twin(s.cloud, m)
	if err != nil {
		t.Fatal(err)
	}
	a, b := &s.cloud.Trees[0][3], &s.cloud.Trees[0][5]
	x, err := twin.compPrinted(a, b)
	if err != nil {
		t.Fatal(err)
	}
	y, err := twin.compPrinted(a, a)
	if err != nil {
		t.Fatal(err)
	}
	if x == y {
		t.Error("whose divergence it is makes no difference")
	}
}

// Eq. 6: Comp = r_s(Dis − r) − 3ε with the boxes as printed, so Dis = r +
// Comp/r_s, but the paper prints 2r + Σv_s² + Comp/r_s. Alone, −2·V̂_i·V̂_c
// needs +2r and PKLC-RF −r.
func TestErratumEq6DisFromComp(t *testing.T) {
	s := system(t, Printed{})
	u := s.user
	_, m, err := u.Request(s.requests[0])
	if err != nil {
		t.Fatal(err)
	}
	twin, err := u.Twin(s.cloud, m)
	if err != nil {
		t.Fatal(err)
	}
	q := twin.(*inTheClear)
	for i := range s.images {
		node := &Node{Image: i}
		v, err1 := u.L1.vector(u.images[i].L1, 0)
		k, err2 := u.KL.vector(u.images[i].KL, 0)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		l1 := 0.0
		for j, x := range u.images[i].L1 {
			l1 += (x - m.image.L1[j]) * (x - m.image.L1[j])
		}
		_, kl := dis(s.images[i], s.requests[0])
		near := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %g, want %g", what, got, want)
			}
		}
		near("PL1C-RF, +2r", 2*u.L1.R+-2*dot(v, q.vc)/m.Scale, l1)
		near("PKLC-RF, −r", dot(k, q.kc)/m.Scale-u.KL.R, kl)
		near("both, +r", u.L1.R+twin.comp(node)/m.Scale, l1+kl)
		u.opt.Printed.DisOfSum = true
		near("as printed", u.Dis(twin.comp(node), m), l1+kl+u.L1.R+squares(m.image.L1))
		u.opt.Printed.DisOfSum = false
	}
}

// The boxes by hand: DL1_hc is the distance in one coordinate, DKL_hc one term.
func TestPlanesByHand(t *testing.T) {
	p := &PL1C{M: 3, R: 8}
	h, err1 := p.plane([]float64{1, 4, 2}, 1, 0.5)
	vc, hc, err2 := p.request([]float64{2, 1, 5}, 10)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h, []float64{0, 4, 0, 0, 0.5, 0, -1, 0}) || !slices.Equal(hc, []float64{20, 10, 50, 10, 1, 20, 5, 125}) || !slices.Equal(vc, []float64{20, 10, 50, 10, 1, 150}) {
		t.Errorf("Ĥ_i = %v, Ĥ_c = %v, V̂_c = %v", h, hc, vc)
	}
	if got, want := dot(h, hc), 10*(8-(4-1)*(4-1)/2.0)+0.5; got != want {
		t.Errorf("Ĥ_i·Ĥ_c = %g, want %g", got, want)
	}
	k := &PKLC{M: 2, R: 8}
	hk, err1 := k.plane([]float64{0.25, 0.75}, 0, 0.5)
	kc, err2 := k.request([]float64{0.5, 0.5}, 10)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if got, want := dot(hk, kc), 10*(0.25*math.Log(0.25/0.5)+8)-0.5; math.Abs(got-want) > 1e-12 {
		t.Errorf("H_i·V_c = %g, want %g", got, want)
	}
}

// By G = 0, a bin that is empty in the request is omitted. Histograms without a
// common bin are therefore at distance 0 by the box.
func TestErratumLogOfZeroMakesStrangersEqual(t *testing.T) {
	k := &PKLC{M: 2, R: 0}
	v, err1 := k.vector([]float64{1, 0}, 0)
	c, err2 := k.request([]float64{0, 1}, 1000)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if got := dot(v, c); got != 0 {
		t.Errorf("histograms without a common bin are %g apart", got)
	}
}

// One coordinate does not bound a divergence: a term can exceed the whole,
// since others are negative, or be negative itself. CoordinateBound is a bound.
func TestErratumOneKLTermIsNoLowerBound(t *testing.T) {
	v, c := []float64{0.6, 0.2, 0.2}, []float64{0.4, 0.3, 0.3}
	total := 0.0
	for i := range v {
		total += v[i] * math.Log(v[i]/c[i])
	}
	if term := v[0] * math.Log(v[0]/c[0]); term <= total {
		t.Errorf("the first term is %g of %g", term, total)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		v, c := photo(r, nil, 0, 8, 0).KL, photo(r, nil, 0, 8, 0).KL
		total := 0.0
		for i := range v {
			total += v[i] * math.Log(v[i]/c[i])
		}
		for i := range v {
			if bound := CoordinateBound(v[i], c[i]); bound > total+1e-12 || bound < 0 {
				t.Fatalf("coordinate %d: %g of %g", i, bound, total)
			}
		}
	}
}

// Eq. 4 and 5 add 3ε because both tools add the same ε_i, and both hyperplanes
// the same ε′_i. Sec. IV-D2 draws both for each image, so that all nodes of an
// image share ε′_i.
func TestBothToolsShareNoise(t *testing.T) {
	s := system(t, Printed{})
	u := s.user
	element := func(k *Key, c []uint64, i int) float64 { return float64(int64(k.S.apply(c, nil)[i])) / W }
	primes := map[int]float64{}
	for _, nodes := range s.cloud.Trees {
		for k := range nodes {
			n := &nodes[k]
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 2*MaxE/float64(W) {
					t.Errorf("image %d: %s is %g in one tool, %g in the other", n.Image, what, got, want)
				}
			}
			near("ε", element(u.L1.Vectors, n.CV1, u.L1.M+1), element(u.KL.Vectors, n.CVKL, 2*u.KL.M+1))
			if n.CH1 == nil {
				continue
			}
			prime := element(u.L1.Planes, n.CH1, u.L1.M+1)
			near("ε′", prime, element(u.KL.Vectors, n.CHKL, 2*u.KL.M+1))
			if first, ok := primes[n.Image]; ok {
				near("ε′ of another node", prime, first)
			}
			primes[n.Image] = prime
		}
	}
}

// Eq. 1 encrypts integers, and F(v) counts ones. Elements of V̂ and bins of V_KL
// of photographs are real numbers. As integers they would nearly all be 0, and
// most pairs of photographs would be at distance 0. Here w·V is the integer, and
// V_L1 has β + 1 levels.
func TestErratumIVENeedsIntegers(t *testing.T) {
	images := photographs(t, 50)
	var levels [][]uint16
	for _, image := range images {
		levels = append(levels, image.Levels)
	}
	baselines, err := embed.Baselines(levels, beta)
	if err != nil {
		t.Fatal(err)
	}
	u := new(User)
	if u.embed, err = embed.New([32]byte{1}, len(levels[0]), beta, embed.Dimension(len(levels[0]), beta, 1, gamma), baselines); err != nil {
		t.Fatal(err)
	}
	elements, zero := 0, 0
	for _, image := range images {
		x, err := u.Prepare(image)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append(slices.Clone(x.L1), x.KL...) {
			elements++
			if math.Round(v) == 0 {
				zero++
			}
		}
	}
	t.Logf("%d of %d elements round to 0", zero, elements)
	if zero < elements*999/1000 {
		t.Errorf("only %d of %d elements round to 0", zero, elements)
	}
}

// β = |qL(V_i)| is not defined. Read as the number of levels of a vector, it
// differs between images, and vectors of different m̂ cannot be compared. What
// the paper prints elsewhere, 1296 = 1·864·log_100(β + 1), needs a β of 997 to
// 1,001. A round number of levels, 1,000, makes it 999.
func TestErratumBetaIsInferred(t *testing.T) {
	dimensions := map[int]bool{}
	for _, image := range photos(3, smallN, 864, smallBins) {
		levels := map[uint16]bool{}
		for _, x := range image.Levels {
			levels[x] = true
		}
		dimensions[embed.Dimension(864, len(levels), 1, gamma)] = true
	}
	if len(dimensions) < 10 {
		t.Errorf("%d different m̂ of %d images", len(dimensions), smallN)
	}
	first, last := 0, 0
	for b := 1; b < 2000; b++ {
		if embed.Dimension(864, b, 1, gamma) == 1296 {
			first, last = cmp.Or(first, b), b
		}
	}
	if first != 997 || last != 1001 || beta != 999 {
		t.Errorf("β is %d to %d", first, last)
	}
}

// SF holds the values V_i[s_i] in Sec. IV-D1 and the fields sf_j of V_s[sf_j] in
// Sec. IV-D3. There are more values than fields.
func TestErratumSFHoldsFields(t *testing.T) {
	s := system(t, Printed{})
	values := map[[2]int]bool{}
	for _, nodes := range s.cloud.Trees {
		for k := range nodes {
			if n := &nodes[k]; n.Field != none {
				values[[2]int{n.Field, int(n.OPE)}] = true
			}
		}
	}
	if fields := len(s.user.Fields); fields > smallM+smallBins || len(values) < 5*fields {
		t.Errorf("%d fields, %d values", fields, len(values))
	}
}

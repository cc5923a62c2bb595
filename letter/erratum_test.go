package letter

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Each test restores one printed line and shows its effect. docs/PAPER.md lists
// them.

// Eq. 2 divides each product of elements by w and rounds before it applies the
// key. With S uniform modulo q, the result is a random word modulo q, or some
// 10³¹ in the integers.
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

// Without noise, and with a key too small to wrap, rounding each product is
// correct only where products are below w.
func TestErratumEq2WorksForASmallKey(t *testing.T) {
	one := newMatrix(2)
	one.Words[0], one.Words[3] = 1, 1
	c1, c2 := []uint64{3 * W, 5 * W}, []uint64{7 * W, 11 * W}
	if got := InnerPrinted(one, c1, c2, true); got != 3*7+5*11 {
		t.Errorf("with S = 1: %g", got)
	}
}

func (s small) twin(t *testing.T) (Comparer, *Memory) {
	t.Helper()
	_, m, err := s.user.Request(s.requests[0])
	if err != nil {
		t.Fatal(err)
	}
	twin, err := s.user.Twin(s.cloud, m)
	if err != nil {
		t.Fatal(err)
	}
	return twin, m
}

// run searches in the clear with and without a printed line.
func run(t *testing.T, printed Printed, how Search) (with, without *Reply, err error) {
	t.Helper()
	s := system(t, printed)
	twin, m := s.twin(t)
	with, err = s.cloud.Search(twin, how)
	s.cloud.printed = Printed{}
	return with, s.inTheClear(t, m, how), err
}

func TestErratumLine4ReturnsIfNotNull(t *testing.T) {
	with, without, err := run(t, Printed{ReturnIfNotNull: true}, Search{L: smallL, AP: 0.3})
	if err != nil || with.Stats.Visited != 0 || without.Stats.Visited < 0.3*smallN {
		t.Errorf("%d visits as printed, %d corrected, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

func TestErratumLine7ComparesSplitsOfLeaves(t *testing.T) {
	if _, _, err := run(t, Printed{SplitAtLeaves: true}, Search{L: smallL, AP: 0.3}); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
}

// Lines 8 and 10: Path holds the leaf alone, so each tree visits one image.
func TestErratumLine8ReplacesNode(t *testing.T) {
	with, without, err := run(t, Printed{ChildReplacesNode: true, PushAfterChild: true}, Search{L: smallL, AP: 1})
	if err != nil || with.Stats.Visited > 10 || without.Stats.Visited != smallN {
		t.Errorf("%d visits as printed, %d corrected, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

// Line 14 follows the recursion, so line 20 pops the root first. Far sides are
// searched farthest first, and the same number of visits finds less.
func TestErratumLine14PathPopReturnsTheRoot(t *testing.T) {
	var found [2]int
	for i, printed := range []Printed{{PushAfterChild: true}, {}} {
		s := system(t, printed)
		s.cloud.Trees = s.cloud.Trees[:2] // with ten, the first descents use up the visits
		for _, image := range s.requests {
			_, clear, m := s.ask(t, image, Search{L: smallL, AP: 0.2})
			s.cloud.printed = Printed{}
			all := s.inTheClear(t, m, Search{L: smallL, AP: 1})
			s.cloud.printed = printed
			for _, x := range clear.Images {
				if slices.Contains(all.Images, x) {
					found[i]++
				}
			}
		}
	}
	t.Logf("of %d nearest, AP-20 finds %d as printed, %d corrected", smallL*12, found[0], found[1])
	if found[0] > found[1]*3/4 {
		t.Error("the root may as well come first")
	}
}

func TestErratumLine19NothingEndsAtTheRoot(t *testing.T) {
	if _, _, err := run(t, Printed{EndlessRoot: true}, Search{L: smallL, AP: 1}); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
}

// Lines 21 to 23 never visit, because lines 11 to 13 have visited the whole
// path.
func TestErratumLine21VisitsNobody(t *testing.T) {
	for _, ap := range []float64{0.1, 1} {
		if _, without, _ := run(t, Printed{}, Search{L: smallL, AP: ap}); without.Stats.Dead != 0 {
			t.Errorf("AP %g: lines 21 to 23 visit %d", ap, without.Stats.Dead)
		}
	}
}

// farPlanes puts every hyperplane farther than any image: line 25 always
// prunes.
type farPlanes struct{ Comparer }

func (farPlanes) compPlane(*Node) float64 { return math.Inf(1) }

// Line 25 compares with the last image in Queue even if Queue is not full. With
// planes as far as the paper hopes, requests would get fewer than L images.
func TestErratumLine25PrunesUnfilledQueue(t *testing.T) {
	var got [2]int
	for i, printed := range []Printed{{UnfilledPrunes: true}, {}} {
		s := system(t, printed)
		twin, _ := s.twin(t)
		s.cloud.Trees = s.cloud.Trees[:1]
		r, err := s.cloud.Search(farPlanes{twin}, Search{L: 40, AP: 1})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = len(r.Images)
	}
	if got[0] >= 40 || got[1] != 40 {
		t.Errorf("%d images as printed, %d corrected, of 40", got[0], got[1])
	}
}

// Line 28: Node_k is the traversal's result, the root, which has no sibling.
func TestErratumLine28SiblingOfTheRoot(t *testing.T) {
	with, without, err := run(t, Printed{SiblingOfNode: true, SiblingEnds: true}, Search{L: smallL, AP: 1})
	if err != nil || with.Stats.Visited >= without.Stats.Visited {
		t.Errorf("%d visits as printed, %d corrected, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

// Line 28: the search does not continue above a sibling.
func TestErratumLine28SiblingEndsTheSearch(t *testing.T) {
	with, without, err := run(t, Printed{SiblingEnds: true}, Search{L: smallL, AP: 1})
	if err != nil || with.Stats.Visited >= smallN/2 || without.Stats.Visited != smallN {
		t.Errorf("%d visits as printed, %d corrected, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

// Line 12: an image is another node in every tree, so copies of it fill Queue.
func TestErratumLine12VisHoldsImages(t *testing.T) {
	with, without, err := run(t, Printed{VisHoldsNodes: true}, Search{L: smallL, AP: 10})
	if err != nil {
		t.Fatal(err)
	}
	distinct := func(r *Reply) int { return len(slices.Compact(slices.Sorted(slices.Values(r.Images)))) }
	if with.Stats.Visited < 4*smallN || distinct(with) > 2 || distinct(without) != smallL {
		t.Errorf("%d visits and %d different images as printed, %d images corrected", with.Stats.Visited, distinct(with), distinct(without))
	}
}

// Sec. VI counts AP-X per tree, and line 17 over all trees, a factor of about
// ten.
func TestErratumLine17CountsAllTrees(t *testing.T) {
	with, without, err := run(t, Printed{APOfTree: true, VisHoldsNodes: true}, Search{L: smallL, AP: 0.1})
	if err != nil || with.Stats.Visited < 3*without.Stats.Visited {
		t.Errorf("%d visits counted a tree, %d shared, %v", with.Stats.Visited, without.Stats.Visited, err)
	}
}

// The paper defines ties: "the left branch if V_req[s_i] ≤ V_i[s_i]". A request
// that equals an image descends to it in every tree.
func TestTiesGoLeft(t *testing.T) {
	s := system(t, Printed{})
	for i, image := range s.images[:20] {
		_, clear, _ := s.ask(t, image, Search{L: 1, AP: 0.001})
		if clear.Images[0] != i {
			t.Errorf("image %d is not on its own way down: %v", i, clear.Images)
		}
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
// clear it is independent of V_qL's distance, so every node is nearer and the
// last in Queue is the last visited. The cloud cannot compute it.
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

// log 0 = 0: a bin that is empty in the request adds v·log v − v·0 < 0, or, by
// G = 0, is omitted. Histograms without a common bin are at distance 0 by the
// box.
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

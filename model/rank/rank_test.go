package rank

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// annotate is baseline.py's annotate, statement by statement.
func annotate(near []Neighbour, keep int) []Keyword {
	sorted := slices.Clone(near)
	sort.SliceStable(sorted, func(a, b int) bool { return sorted[a].Dis < sorted[b].Dis })
	sum := 0.0
	for _, i := range sorted {
		sum += i.Dis
	}
	total := map[string]float64{}
	var order []string
	for _, i := range sorted {
		for _, t := range i.Keywords {
			if _, known := total[t]; !known {
				order = append(order, t)
			}
			total[t] += 1 - i.Dis/sum
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return total[order[a]] > total[order[b]] })
	var out []Keyword
	for _, t := range order[:min(keep, len(order))] {
		out = append(out, Keyword{Word: t, Weight: total[t]})
	}
	return out
}

func random(rng *rand.Rand, k, vocabulary int) []Neighbour {
	near := make([]Neighbour, k)
	for i := range near {
		near[i].Dis = 1 + 10*rng.Float64()
		for _, w := range rng.Perm(vocabulary)[:1+rng.IntN(4)] {
			near[i].Keywords = append(near[i].Keywords, fmt.Sprint("w", w))
		}
	}
	return near
}

func words(keywords []Keyword) []string {
	var out []string
	for _, k := range keywords {
		out = append(out, k.Word)
	}
	return out
}

func TestKeywordsEqualsReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 2000 {
		near := random(rng, 2+rng.IntN(12), 8)
		n := 1 + rng.IntN(9)
		if got, want := Keywords(near, n), annotate(near, n); !slices.Equal(got, want) {
			t.Fatalf("trial %d:\n got %v\nwant %v", trial, got, want)
		}
	}
}

// Expected values come from baseline.py.
func TestKeywordsByHand(t *testing.T) {
	near := []Neighbour{
		{Dis: 4, Keywords: []string{"sky", "tree"}},
		{Dis: 1, Keywords: []string{"sun", "sky"}},
		{Dis: 5, Keywords: []string{"grass", "tree", "tree"}},
	}
	got := Keywords(near, 3)
	want := []Keyword{{Word: "sky", Weight: 0.9 + 0.6}, {Word: "tree", Weight: 0.6 + 0.5}, {Word: "sun", Weight: 0.9}}
	for i := range want {
		if got[i].Word != want[i].Word || math.Abs(got[i].Weight-want[i].Weight) > 1e-15 {
			t.Errorf("place %d: %v, want %v", i, got[i], want[i])
		}
	}
	if near[0].Dis != 4 {
		t.Error("Keywords changed its input")
	}
}

func TestTiesByFirstOccurrence(t *testing.T) {
	near := []Neighbour{{Dis: 2, Keywords: []string{"d", "a"}}, {Dis: 1, Keywords: []string{"c", "b"}}, {Dis: 2, Keywords: []string{"e", "c"}}}
	if got := words(Keywords(near, 9)); !slices.Equal(got, []string{"c", "b", "d", "a", "e"}) {
		t.Errorf("got %v", got)
	}
}

func TestNumberOfKeywords(t *testing.T) {
	near := []Neighbour{{Dis: 1, Keywords: []string{"a", "b"}}, {Dis: 2, Keywords: nil}}
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 2: 2, 3: 2} {
		if got := len(Keywords(near, n)); got != want {
			t.Errorf("asking for %d gave %d", n, got)
		}
	}
	if got := Keywords(nil, 5); len(got) != 0 {
		t.Errorf("no neighbours gave %v", got)
	}
}

func TestNonFiniteDistancesAreIgnored(t *testing.T) {
	near := []Neighbour{{Dis: 1, Keywords: []string{"a"}}, {Dis: 3, Keywords: []string{"b"}}}
	want := Keywords(near, 5)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		with := append([]Neighbour{{Dis: bad, Keywords: []string{"c", "b"}}}, near...)
		if got := Keywords(with, 5); !slices.Equal(got, want) {
			t.Errorf("distance %v: %v, want %v", bad, got, want)
		}
	}
}

func TestKeywordJSON(t *testing.T) {
	got, err := json.Marshal(Keyword{Word: "sky", Weight: 1.5})
	if err != nil || string(got) != `{"word":"sky","weight":1.5}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestCountsRankBeforeDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		near := random(rng, 2+rng.IntN(12), 6)
		count, far := map[string]int{}, map[string]float64{}
		for _, i := range near {
			for _, w := range i.Keywords {
				count[w]++
				far[w] += i.Dis
			}
		}
		ranked := words(Keywords(near, 100))
		for i, b := range ranked[1:] {
			a := ranked[i]
			if count[a] < count[b] || count[a] == count[b] && far[a] > far[b]+1e-9 {
				t.Fatalf("%s (%d neighbours, %g) before %s (%d, %g)", a, count[a], far[a], b, count[b], far[b])
			}
		}
	}
}

// Erratum: W = 1 − Dis/ΣDis is 0 for a single neighbour.
func TestErratumSingleNeighbour(t *testing.T) {
	for _, dis := range []float64{0, 0.3, 12} {
		got := Keywords([]Neighbour{{Dis: dis, Keywords: []string{"a", "b"}}}, 5)
		if !slices.Equal(got, []Keyword{{Word: "a", Weight: 1}, {Word: "b", Weight: 1}}) {
			t.Errorf("distance %g: %v", dis, got)
		}
	}
}

// Erratum: W is 0/0 if all distances are 0. The limit for equal distances is 1 − 1/k.
func TestErratumAllDistancesZero(t *testing.T) {
	near := func(dis float64) []Neighbour {
		return []Neighbour{{Dis: dis, Keywords: []string{"a"}}, {Dis: dis, Keywords: []string{"b"}}, {Dis: dis, Keywords: []string{"a"}}, {Dis: dis, Keywords: []string{"a"}}}
	}
	got, limit := Keywords(near(0), 5), Keywords(near(1e-9), 5)
	if len(got) != 2 || got[0] != (Keyword{Word: "a", Weight: 3 * 0.75}) || got[1] != (Keyword{Word: "b", Weight: 0.75}) {
		t.Errorf("got %v", got)
	}
	for i := range got {
		if math.Abs(got[i].Weight-limit[i].Weight) > 1e-12 {
			t.Errorf("%v is not the limit %v", got[i], limit[i])
		}
	}
}

// Erratum: distances decrypted from noisy scores can be negative. Then the
// printed weights leave [0, 1] and ΣDis can vanish.
func TestErratumNegativeDistanceIsClamped(t *testing.T) {
	near := []Neighbour{{Dis: -0.001, Keywords: []string{"a"}}, {Dis: 0.0005, Keywords: []string{"b"}}, {Dis: 0.0005, Keywords: []string{"c"}}}
	got := Keywords(near, 5) // printed: ΣDis = 0
	if !slices.Equal(got, []Keyword{{Word: "a", Weight: 1}, {Word: "b", Weight: 0.5}, {Word: "c", Weight: 0.5}}) {
		t.Errorf("got %v", got)
	}
	for _, k := range Keywords([]Neighbour{{Dis: -3, Keywords: []string{"a"}}, {Dis: -2, Keywords: []string{"b"}}, {Dis: -1, Keywords: []string{"c"}}}, 3) {
		if k.Weight < 0 || k.Weight > 1 {
			t.Errorf("weight out of range: %v", k)
		}
	}
}

// Erratum: the weights are not shift-invariant, so scores cannot replace
// distances. Comp/r_s = Dis − r without the "+ r" ranks differently, clamped
// (here) or not (printed).
func TestErratumWeightsAreNotShiftInvariant(t *testing.T) {
	near := func(offset float64) []Neighbour {
		return []Neighbour{{Dis: 1 + offset, Keywords: []string{"x"}}, {Dis: 2 + offset, Keywords: []string{"y"}}, {Dis: 3 + offset, Keywords: []string{"y"}}, {Dis: 9 + offset, Keywords: []string{"x"}}}
	}
	want := []string{"y", "x"} // 2 − 5/15 against 2 − 10/15
	if got := words(Keywords(near(0), 2)); !slices.Equal(got, want) {
		t.Errorf("true distances: %v, want %v", got, want)
	}
	const r = 11
	if got := words(Keywords(near(-r), 2)); slices.Equal(got, want) {
		t.Error("an offset does not change the ranking: the correction would not be needed")
	}
	if got := words(annotate(near(-r), 2)); slices.Equal(got, want) { // annotate has no clamp
		t.Error("an offset does not change the ranking of the printed weights")
	}
	// A positive offset, which the printed 2r + Σv² + Comp/r_s leaves, moves
	// every weight towards 1 − 1/k.
	if a, b := Keywords(near(0), 1)[0].Weight, Keywords(near(r), 1)[0].Weight; math.Abs(a-b) < 0.1 {
		t.Errorf("weights %g and %g with and without an offset", a, b)
	}
}

func BenchmarkKeywords(b *testing.B) {
	near := random(rand.New(rand.NewPCG(1, 1)), 10, 30)
	for b.Loop() {
		Keywords(near, 5)
	}
}

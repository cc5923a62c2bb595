package learn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"cpar"
	"cpar/model/feature"
	"cpar/model/rank"
)

func TestUnusualCollections(t *testing.T) {
	first := func(n int) ([][]float32, [][]string) { return collection(n, 1, uint64(n)) }
	each := func(n int, words func(i int) []string) [][]string {
		out := make([][]string, n)
		for i := range out {
			out[i] = words(i)
		}
		return out
	}
	rng := rand.New(rand.NewPCG(9, 9))
	rows60, words60 := first(60)
	constant := slices.Clone(rows60)
	for i, r := range constant {
		constant[i] = slices.Concat([]float32{3, 3, 3, 3, 3, 3}, r[6:])
	}
	twins := slices.Concat(rows60[:30], slices.Repeat(rows60[:1], 30)) // half of them one photo
	for name, c := range map[string]struct {
		rows     [][]float32
		keywords [][]string
		fit      bool
		choose   bool
	}{
		"50 photos":          {rows60[:50], words60[:50], true, true},
		"7 photos":           {rows60[:7], words60[:7], true, true},
		"4 photos, 2 words":  {rows60[:4], [][]string{{"1"}, {"2"}, {"1"}, {"2"}}, true, true},
		"2 photos":           {rows60[:2], [][]string{{"1"}, {"2"}}, true, false},
		"1 photo":            {rows60[:1], words60[:1], false, false},
		"no photo":           {nil, nil, false, false},
		"few with keywords":  {rows60, each(60, func(i int) []string { return words60[i][:len(words60[i])*(i%3/2)] }), true, true},
		"no keywords":        {rows60, make([][]string, 60), false, false},
		"one keyword":        {rows60, each(60, func(i int) []string { return []string{"7"}[:i%2] }), true, true},
		"one keyword, once":  {rows60, each(60, func(i int) []string { return []string{"7"}[:i/59] }), true, true},
		"one keyword of all": {rows60, each(60, func(int) []string { return []string{"7"} }), false, false},
		"many keywords, once": {rows60, each(60, func(i int) []string {
			out := []string{fmt.Sprint(rng.IntN(5))}
			for j := range 50 {
				out = append(out, fmt.Sprint(10+50*i+j))
			}
			return out
		}), true, true},
		"the same photos":  {slices.Repeat(rows60[:1], 60), words60, false, false},
		"a constant block": {constant, words60, true, true},
		"twins":            {twins, words60, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(what string, err error, can bool) {
				t.Helper()
				if can && err != nil || !can && !errors.Is(err, cpar.ErrInput) {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, landmarks := range []int{0, 1, 20} {
				p, err := fit(t.Context(), c.rows, c.keywords, Options{Dim: 8, Ridge: 0.3, Blocks: both, Landmarks: landmarks})
				if check(fmt.Sprint("fit with ", landmarks), err, c.fit); err != nil {
					continue
				}
				vectors, err := p.ApplyAll(c.rows)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range vectors {
					square := 0.0
					for _, x := range v {
						square += float64(x) * float64(x)
					}
					if !(math.Abs(square-1) < 1e-5 || square == 0) {
						t.Fatalf("photo %d has a vector of length² %g", i, square)
					}
				}
			}
			choice, err := Choose(context.Background(), InMemory(c.rows), c.keywords,
				Grid{Base: Options{Blocks: both}, Ridges: []float64{0.1, 1}, Dims: []int{4, 8}, Landmarks: []int{0, 20}})
			if check("choose", err, c.choose); err == nil {
				if _, err := choice.Fit(t.Context(), InMemory(c.rows), c.keywords); err != nil {
					t.Error("fit what was chosen:", err)
				}
			}
		})
	}
}

func TestLargeCollections(t *testing.T) {
	rows, keywords := collection(maxReduced+200, 1, 11)
	p := mustFit(t, rows, keywords, Options{Dim: 3, Ridge: 0.3, Blocks: both, Landmarks: 30})
	if _, err := p.ApplyAll(rows); err != nil {
		t.Fatal(err)
	}
	c, err := Choose(context.Background(), InMemory(rows), keywords,
		Grid{Base: Options{Blocks: both}, Ridges: []float64{0.3}, Dims: []int{4}, Landmarks: []int{0}, Keep: 3, MaxPhotos: 300})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Samples) != 300 || c.Quality.Merit() < 0.5 {
		t.Errorf("%d photos asked, %+v", len(c.Samples), c.Quality)
	}
}

func TestKernelByHand(t *testing.T) {
	rows, keywords := collection(40, 1, 12)
	opt := Options{Dim: 2, Ridge: 1, Blocks: both}
	linear := prepare(t, rows, keywords, opt)
	opt.Landmarks, opt.Weights = 9, []float32{1, 3}
	f := prepare(t, rows, keywords, opt)
	picked := rand.New(rand.NewPCG(0, 0x6c6561726e)).Perm(40)[:9]
	start := []int{0, f.p.blocks[0].basis.rows, f.p.blocks[0].basis.rows + f.p.blocks[1].basis.rows}
	want := matrix(9, 9)
	for b := range 2 {
		square := func(i, j int) float64 {
			s := 0.0
			for k := start[b]; k < start[b+1]; k++ {
				d := linear.x.Data[picked[i]*linear.x.Stride+k] - linear.x.Data[picked[j]*linear.x.Stride+k]
				s += d * d
			}
			return s
		}
		var apart []float64
		for i := range 9 {
			for j := range i {
				apart = append(apart, square(i, j))
			}
		}
		slices.Sort(apart)
		for i := range 9 {
			for j := range 9 {
				want.Data[i*9+j] += float64(opt.Weights[b]) / 4 * math.Exp(-square(i, j)/(2*apart[len(apart)/2]))
			}
		}
	}
	for i := range 9 {
		for j := range 9 {
			got := 0.0
			for k := range 9 {
				got += f.x.Data[picked[i]*f.x.Stride+k] * f.x.Data[picked[j]*f.x.Stride+k]
			}
			if math.Abs(got-want.Data[i*9+j]) > 1e-3 {
				t.Fatalf("similarity of %d and %d: %g, want %g", i, j, got, want.Data[i*9+j])
			}
		}
	}
}

func TestProgress(t *testing.T) {
	rows, keywords := collection(40, 1, 13)
	var last, all int
	tell := func(done, total int) {
		if done != last+1 || all != 0 && total != all {
			t.Errorf("%d of %d after %d of %d", done, total, last, all)
		}
		last, all = done, total
	}
	space := Grid{Base: Options{Blocks: both, Progress: tell}, Landmarks: []int{0, 10}, Skips: [][]bool{nil, {true, false}}}
	c, err := Choose(context.Background(), InMemory(rows), keywords, space)
	if err != nil || last != all || all < len(c.Trials) {
		t.Errorf("%d of %d at the end: %v", last, all, err)
	}
	last, all = 0, 0
	if mustFit(t, rows, keywords, c.Options); last != all || all == 0 {
		t.Errorf("%d of %d at the end of fitting", last, all)
	}
}

func TestFoldCountDependsOnPhotos(t *testing.T) {
	for photos, want := range map[int]int{4: 4, 299: 5, 300: 10, 1000: 10, 1001: 5} {
		if got := (Grid{}).filled(photos).Folds; got != want {
			t.Errorf("%d photos: %d folds, want %d", photos, got, want)
		}
	}
	if got := (Grid{Folds: 3}).filled(500).Folds; got != 3 {
		t.Errorf("%d folds, which were to be 3", got)
	}
}

// The most informative block, patches or the embedding, has the largest weight.
func TestGridsMatchTheirRows(t *testing.T) {
	v := feature.New()
	v.RGB[0], v.Lab[1] = 1, 2
	with := EmbeddingRow([]float32{7, 8, 9}, v)
	if with[2] != 9 || with[3] != 1 || with[3+2*feature.ColorDim+1] != 2 {
		t.Error("blocks out of order")
	}
	for name, c := range map[string]struct {
		row   []float32
		space Grid
		most  int // the block with the largest weight
	}{
		"features":         {Row(v), FeatureGrid(), slices.IndexFunc(feature.Blocks(), func(b feature.Block) bool { return b.Name == "patches" })},
		"with features":    {with, EmbeddingGrid(3, true), 0},
		"without features": {EmbeddingRow([]float32{7, 8, 9}, nil), EmbeddingGrid(3, false), -1},
	} {
		for b, w := range c.space.Base.Weights {
			if b != c.most && w >= c.space.Base.Weights[c.most] {
				t.Errorf("%s: block %d weighs as much as block %d", name, b, c.most)
			}
		}
		in := 0
		for _, b := range c.space.Base.Blocks {
			in += b
		}
		if in != len(c.row) {
			t.Errorf("%s: a row of %d values for blocks of %d", name, len(c.row), in)
		}
		if _, _, err := c.space.filled(2).check(InMemory([][]float32{c.row, c.row}), make([][]string, 2)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A final calibration on more folds does not change the trials. Its samples are
// as if only the best options had been tried.
func TestFinalFolds(t *testing.T) {
	rows, keywords := collection(60, 1, 13)
	grid := Grid{Base: Options{Blocks: both}, Dims: []int{2, 3}, Ridges: []float64{0.1, 1}, Landmarks: []int{0}, Folds: 3}
	plain := must(Choose(t.Context(), InMemory(rows), keywords, grid))
	grid.FinalFolds = 6
	final := must(Choose(t.Context(), InMemory(rows), keywords, grid))
	if !slices.EqualFunc(final.Trials, plain.Trials, func(a, b Trial) bool { return a.Merit == b.Merit }) || final.Options.Dim != plain.Options.Dim {
		t.Fatalf("%+v, without %+v", final.Trials, plain.Trials)
	}
	twin := must(Choose(t.Context(), InMemory(rows), keywords, Grid{Base: grid.Base, Dims: []int{final.Options.Dim}, Ridges: []float64{final.Options.Ridge}, Landmarks: []int{0}, Folds: 6}))
	if final.Options.Square != twin.Options.Square || len(final.Samples) != 60 || final.Samples[59].Fold != 5 {
		t.Fatalf("%+v, %d samples", twin.Options, len(final.Samples))
	}
	for i, s := range final.Samples {
		// Sums over three and over six folds are rounded differently.
		same := slices.EqualFunc(s.Near, twin.Samples[i].Near, func(a, b rank.Neighbour) bool {
			return math.Abs(a.Dis-b.Dis) < 1e-6 && reflect.DeepEqual(a.Keywords, b.Keywords)
		})
		if !same || s.Photo != twin.Samples[i].Photo {
			t.Errorf("sample %d has %v, want %v", i, s.Near, twin.Samples[i].Near)
		}
	}
	for _, x := range [][3]int{{299, 5, 5}, {300, 10, 10}, {1000, 10, 10}, {1001, 5, 80}, {4, 4, 4}} {
		if g := (Grid{}).filled(x[0]); g.Folds != x[1] || g.FinalFolds != x[2] {
			t.Errorf("%d photos: %d and %d folds", x[0], g.Folds, g.FinalFolds)
		}
	}
}

func TestReducedPhotos(t *testing.T) {
	for _, c := range [][3]int{{5000, 10_448, 2679}, {9000, 2000, 5000}, {300, 2000, 300}, {9000, reducedValues + 1, 2}, {0, 0, 0}} {
		if got := reducedPhotos(c[0], c[1]); got != c[2] {
			t.Errorf("%d of %d photos of %d values, want %d", got, c[0], c[1], c[2])
		}
	}
}

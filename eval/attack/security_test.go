package attack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/internal/lattice"
	"cpar/model/profile"
	"cpar/user"
)

func TestSecurityIsQuoted(t *testing.T) {
	b, err := os.ReadFile("../../docs/security/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	r := ringBits(ringOf(lattice.Fast))
	c := ringBits(ringOf(lattice.Careful))
	want := fmt.Sprintf("block size %d (%d with `--careful`): %.0f bits (%.0f) against classical and %.0f (%.0f) against quantum computers by core-SVP (the dual attack: %.0f and %.0f; %.0f and %.0f), %.0f and %.0f (%.0f and %.0f) by the standard's own models",
		r.BlockSize, c.BlockSize, r.Primal[0], c.Primal[0], r.Primal[1], c.Primal[1],
		r.Dual[0], r.Dual[1], c.Dual[0], c.Dual[1], r.Standard[0], r.Standard[1], c.Standard[0], c.Standard[1])
	if !strings.Contains(text, want) {
		t.Errorf("docs/security/proof.md lacks %q", want)
	}
}

func TestSecurityTables(t *testing.T) {
	s := computed(t)
	for _, table := range s.Tables() {
		for _, r := range table.Rows {
			if len(r) != len(table.Columns) {
				t.Errorf("%s: %d cells under %d columns", table.Name, len(r), len(table.Columns))
			}
		}
		if len(table.Rows) < 15 {
			t.Errorf("%s has %d rows", table.Name, len(table.Rows))
		}
	}
	// Eight records of 98 numbers with a norm of 128 in a row, in blocks of 32:
	// Δ = 2³⁵, Δ_db = 2¹⁷, K·C = 512, B = 25, hints of 26 bits.
	f := formatsInUse[2]
	f.LogN, f.Block = lattice.Fast.LogN, 32
	c, err := formatCost(f)
	if err != nil {
		t.Fatal(err)
	}
	if c.Dim != 784 || c.RequestBytes != 25*2048*lattice.WordBytes || c.HintBytes != 2048*26./8/512 || c.RecordBytes != float64(c.RequestBytes)/512 {
		t.Errorf("%+v", c)
	}
}

func computed(t *testing.T) *Security {
	t.Helper()
	s, err := ComputeSecurity()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Profiles without a histogram have unit vectors.
func TestUnitVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const draws = 4000
	var squares []float64
	for range draws {
		x, norm := make([]float64, shortVectors.Dim), 0.
		for i := range x {
			x[i] = rng.NormFloat64()
			norm += x[i] * x[i]
		}
		square := 0.
		for _, c := range x {
			q := math.RoundToEven(125 * c / math.Sqrt(norm))
			square += q * q
		}
		if a := math.Abs(square/2 - 7812.5); square > float64(shortVectors.RecordNorm*shortVectors.RecordNorm) || a > float64(shortVectors.Addend) {
			t.Errorf("a square of %g is out of bounds", square)
		}
		squares = append(squares, square)
	}
	if mean, deviation := stat.MeanStdDev(squares, nil); math.Abs(mean-15633) > 5 || math.Abs(deviation-72) > 4 {
		t.Errorf("squares of %.0f ± %.1f", mean, deviation)
	}
}

// cpar build offers every ring and block width, with and without cells.
func TestFormatsCoverEveryBuildOption(t *testing.T) {
	s := computed(t)
	covered := func(what string, p lattice.Params) {
		t.Helper()
		if !slices.ContainsFunc(s.Formats, func(f FormatCost) bool { return f.Params == p }) {
			t.Errorf("%s: no format of the command is %+v", what, p)
		}
	}
	learnable := measuretest.Learnable(160, 1)
	network, err := profile.Fit(t.Context(), profile.Network, measure.FeaturesOf(learnable.Train), measure.Keywords(learnable.Train), profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	photos := measuretest.SyntheticCorpus(1, 70, 1).Train
	paper, err := profile.Fit(t.Context(), profile.Paper, measure.FeaturesOf(photos), measure.Keywords(photos), profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for careful := range 2 {
		for _, block := range append([]int{0}, blocks...) {
			opt := user.Options{Scheme: cpar.SchemeSealed, Fitted: network, Careful: careful == 1, Block: block, Cells: 8}
			parts := sectionsOf(t, learnable.Train[:120], opt)
			covered("alone", parts.Open)
			covered("in cells", *parts.Clustered)
			if opt.Fitted, opt.Cells = paper, 0; block == 0 { // narrow blocks make its requests too long
				covered("profile paper", sectionsOf(t, photos, opt).Open)
			}
		}
	}
}

func sectionsOf(t *testing.T, photos []user.Photo, opt user.Options) lattice.Sections {
	t.Helper()
	x, _, err := measure.OpenSealed(t.Context(), photos, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	parts, err := lattice.DecodeSections(x.Files.Segment(cpar.SegmentParams))
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

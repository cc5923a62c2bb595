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
	"cpar/eval/estimate"
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
	r := ringBits(ourRings[0])
	c := ringBits(ourRings[1])
	want := fmt.Sprintf("block size %d (%d with `--careful`): %.0f bits (%.0f) against classical and %.0f (%.0f) against quantum computers by core-SVP (the dual attack: %.0f and %.0f; %.0f and %.0f), %.0f and %.0f (%.0f and %.0f) by the standard's own models",
		r.BlockSize, c.BlockSize, r.Primal[0], c.Primal[0], r.Primal[1], c.Primal[1],
		r.Dual[0], r.Dual[1], c.Dual[0], c.Dual[1], r.Standard[0], r.Standard[1], c.Standard[0], c.Standard[1])
	if !strings.Contains(text, want) {
		t.Errorf("docs/security/proof.md lacks %q", want)
	}
}

func TestFormatsInUseMatchIndexes(t *testing.T) {
	for _, c := range []struct {
		vectors estimate.Vectors
		corpus  *measure.Corpus
		kind    profile.Kind
	}{
		{paperVectors, measuretest.SyntheticCorpus(1, 70, 1), profile.Paper},
		{shortVectors, measuretest.Learnable(160, 1), profile.Network},
	} {
		s, _, err := measure.OpenSealed(t.Context(), c.corpus.Train, user.Options{Scheme: cpar.SchemeSealed, Profile: c.kind})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := lattice.DecodeParams(s.Files.Segment(cpar.SegmentParams))
		if err != nil {
			t.Fatal(err)
		}
		want := estimate.Vectors{Dim: c.vectors.Dim, RecordNorm: float64(p.RecordNorm), RequestNorm: float64(p.RequestNorm), Addend: float64(p.Addend), LogT: p.LogT}
		if c.vectors != want {
			t.Errorf("%v: %+v, an index has %+v", c.kind, c.vectors, want)
		}
		found := false
		for _, f := range ComputeSecurity().Formats {
			if f.Ring == ourRings[0] && f.Vectors == want && f.Block == p.Block {
				found = math.Abs(f.LogFailure-p.LogFailure()) < 0.1 && f.HintBytes == float64(p.HintBytes())/float64(p.Records())
			}
		}
		if !found {
			t.Errorf("%v: no format of the command is %+v, which fails with 2^%.1f", c.kind, p, p.LogFailure())
		}
	}
}

// No format can wrap, and hints use as few bits as the failure rate permits.
func TestSecurityTables(t *testing.T) {
	s := ComputeSecurity()
	for _, f := range s.Formats {
		if !f.Fit() {
			t.Errorf("scores of %+v wrap", f)
		}
	}
	var row *MultiRecordFailure
	for i, r := range s.Rows {
		if r.N == 2048 && r.LogQ == 48 && r.LogT == 16 && r.InRow == 8 {
			row = &s.Rows[i]
		}
	}
	if row == nil || math.Abs(row.LogFailure[26]+81) > 1 {
		t.Errorf("eight records in a row: %+v", row)
	}
	for _, m := range s.Million {
		if m.N != 2048 || m.LogQ != 48 || m.RecordsPerRow != 8 || m.Block != 32 || m.Copies != 1.5 {
			continue
		}
		// 25 blocks of 2048 words of six bytes; 187,500 words; 2,929.7 groups of 2048 numbers.
		if m.RequestBytes != 25*2048*6 || m.Reply != 187500*6 || math.Abs(m.Hints-187500*32*float64(m.HintBits)/8) > 1 || m.LogFailure > rareFailure {
			t.Errorf("a million: %+v", m)
		}
	}
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
}

// As in profiles without a histogram.
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
		if a := math.Abs(square/2 - 7812.5); square > shortVectors.RecordNorm*shortVectors.RecordNorm || a > shortVectors.Addend {
			t.Errorf("a square of %g is out of bounds", square)
		}
		squares = append(squares, square)
	}
	if mean, deviation := stat.MeanStdDev(squares, nil); math.Abs(mean-15633) > 5 || math.Abs(deviation-72) > 4 {
		t.Errorf("squares of %.0f ± %.1f", mean, deviation)
	}
}

// cpar build offers every ring, block width and number of cells.
func TestTablesCoverEveryBuildOption(t *testing.T) {
	c, s := measuretest.Learnable(120, 1), ComputeSecurity()
	fit, err := profile.Fit(t.Context(), profile.Network, measure.FeaturesOf(c.Train), measure.Keywords(c.Train), profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, ring := range ourRings {
		for _, block := range blocks {
			x, _, err := measure.OpenSealed(t.Context(), c.Train, user.Options{Scheme: cpar.SchemeSealed, Fitted: fit, Careful: i == 1, Block: block, Cells: 8})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			parts, err := lattice.DecodeSections(x.Files.Segment(cpar.SegmentParams))
			if err != nil {
				t.Fatal(err)
			}
			p := parts.Clustered
			if !slices.ContainsFunc(s.Rows, func(r MultiRecordFailure) bool {
				return r.Ring == ring && r.Block == p.Block && r.InRow == p.Slots() && r.LogT == p.LogT && math.Abs(r.LogFailure[estimate.HintBits]-p.LogFailure()) < 0.1
			}) {
				t.Errorf("no row of ring %+v, blocks of %d: %+v fails with 2^%.1f", ring, block, p, p.LogFailure())
			}
			if !slices.ContainsFunc(s.Formats, func(f FormatCost) bool {
				return f.Ring == ring && f.Block == block && f.Dim == paperVectors.Dim
			}) {
				t.Errorf("no format of ring %+v, blocks of %d", ring, block)
			}
		}
	}
}

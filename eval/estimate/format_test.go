package estimate

import (
	"math"
	"testing"

	"cpar/internal/lattice"
)

func TestRingsMatchLattice(t *testing.T) {
	for _, own := range []*lattice.Ring{lattice.Fast, lattice.Careful} {
		r := Ring{N: own.N, LogQ: own.LogQ}
		if q := r.Modulus(); !q.IsUint64() || q.Uint64() != own.Q {
			t.Errorf("modulus %d, the program's is %d", q, own.Q)
		}
		if r.wordBytes() != lattice.WordBytes {
			t.Errorf("words of %d bytes", r.wordBytes())
		}
	}
	if r := (Ring{N: 2048, LogQ: 48}); r.Modulus().Uint64() != 1<<48-r.gapWord()+1 || r.Modulus().Uint64()%4096 != 1 {
		t.Errorf("modulus %d and gap %d do not belong together", r.Modulus(), r.gapWord())
	}
}

func (r Ring) gapWord() uint64 { return uint64(r.gap()) }

func TestFailureMatchesLattice(t *testing.T) {
	for _, p := range []lattice.Params{
		{LogN: 11, Dim: 1344, Block: 128, LogT: 16, LogRecordScale: 15, RecordNorm: 161, RequestNorm: 173, Addend: 4380},
		{LogN: 12, Dim: 1344, Block: 128, LogT: 16, LogRecordScale: 15, RecordNorm: 161, RequestNorm: 173, Addend: 4380},
		{LogN: 11, Dim: 96, Block: 32, LogT: 15, LogRecordScale: 14, RecordNorm: 127, RequestNorm: 127, Addend: 252},
		{LogN: 12, Dim: 5000, Block: 256, LogT: 12, LogRecordScale: 16, RecordNorm: 44, RequestNorm: 45, Addend: 60},
	} {
		f := Format{Ring: Ring{N: p.Ring().N, LogQ: p.Ring().LogQ}, Block: p.Block, RecordsPerRow: 1, HintBits: HintBits, Vectors: Vectors{
			Dim: p.Dim, RecordNorm: float64(p.RecordNorm), RequestNorm: float64(p.RequestNorm), Addend: float64(p.Addend), LogT: p.LogT}}
		if got, want := f.failure(p.LogRecordScale, f.gap()), p.LogFailure(); math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%+v: 2^%g here, 2^%g there", p, got, want)
		}
		balanced, err := p.Balance()
		if err != nil {
			t.Fatal(err)
		}
		if got, scale := f.Failure(); scale != balanced.LogRecordScale || math.Abs(got-balanced.LogFailure()) > 1e-6 {
			t.Errorf("%+v: 2^%g at scale 2^%d here, %+v there", p, got, scale, balanced)
		}
		if !f.Fit() {
			t.Errorf("%+v wraps here", p)
		}
		records := float64(p.Records())
		if f.RequestBytes() != p.MatrixBytes() || f.RecordBytes() != float64(p.MatrixBytes())/records ||
			f.HintBytes() != float64(p.HintBytes())/records || f.ReplyBytes() != lattice.WordBytes {
			t.Errorf("%+v: request %d, record %g, hint %g, reply %g", p, f.RequestBytes(), f.RecordBytes(), f.HintBytes(), f.ReplyBytes())
		}
	}
}

// C records per row multiply the record part of the noise, squared, by C.
func TestRowsOfSeveralRecords(t *testing.T) {
	f := Format{Ring: Ring{N: 2048, LogQ: 48}, Block: 32, RecordsPerRow: 8, HintBits: 26, Vectors: Vectors{Dim: 98, RecordNorm: 126, RequestNorm: 126, LogT: 16}}
	// Δ = 2³², Δ_db = 2¹⁴, K·C = 512, B = 25
	gap := f.gap()
	request := math.Exp2(18) * 3.2 * 126
	record := 3.2 * (math.Exp2(14)*math.Sqrt(512)*126 + 19*math.Sqrt(2048*25))
	hint := math.Sqrt(4096./3) * (math.Exp2(21) + gap)
	z := (math.Exp2(31) - gap - 19) / math.Sqrt(request*request+record*record+hint*hint)
	if got, want := f.failure(14, gap), 1-z*z/2/math.Ln2; math.Abs(got-want) > 1e-9 {
		t.Errorf("2^%g, want 2^%g", got, want)
	}
	if got, scale := f.Failure(); scale != 14 || got > -80 || got < -85 {
		t.Errorf("2^%g at scale 2^%d", got, scale)
	}
	for _, c := range []struct{ got, want float64 }{{float64(f.RequestBytes()), 307200}, {f.HintBytes(), 13}, {f.RecordBytes(), 600}, {f.ReplyBytes(), 0.75}} {
		if c.got != c.want {
			t.Errorf("%g bytes, want %g", c.got, c.want)
		}
	}
}

func TestAddendInTwoCoordinates(t *testing.T) {
	for _, bound := range []int{1, 2, 7, 252, 4443, 254000} {
		v := Vectors{Dim: 96, RecordNorm: 3, RequestNorm: 4, Addend: float64(bound), LogT: 30}.WithAddend()
		m := int(math.Ceil(math.Sqrt(float64(bound))))
		largest := 0.
		for a := -bound; a <= bound; a++ {
			high := int(math.Round(float64(a) / float64(m)))
			low := a - high*m
			largest = max(largest, float64(high*high+low*low))
		}
		if v.Dim != 98 || v.RequestNorm != math.Sqrt(float64(16+m*m+1)) || v.RecordNorm < math.Sqrt(9+largest)-1e-9 || v.RecordNorm > 1.2*math.Sqrt(9+largest)+1 {
			t.Errorf("±%d: %+v, the largest has norm %g", bound, v, math.Sqrt(9+largest))
		}
	}
}

func TestWithMinHintBits(t *testing.T) {
	f := Format{Ring: Ring{N: 2048, LogQ: 48}, Block: 32, RecordsPerRow: 8, Vectors: Vectors{Dim: 98, RecordNorm: 129, RequestNorm: 128, LogT: 15}}.WithMinHintBits(-80)
	less := f
	less.HintBits--
	a, _ := f.Failure()
	b, _ := less.Failure()
	if f.HintBits != 25 || a > -80 || b <= -80 {
		t.Errorf("%d bits fail with 2^%.0f, one fewer with 2^%.0f", f.HintBits, a, b)
	}
	f.RecordsPerRow, f.LogT = 16, 17
	f = f.WithMinHintBits(-80)
	a, _ = f.Failure()
	f.HintBits = f.LogQ
	if b, _ = f.Failure(); a <= -80 || a > b/1.3 {
		t.Errorf("2^%.1f, with whole hints 2^%.1f", a, b)
	}
}

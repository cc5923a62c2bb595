package lattice

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
)

func inCells(t testing.TB, log int) Params {
	t.Helper()
	p := Params{LogN: Fast.LogN, Dim: 96, Block: 32, LogT: 15, RecordNorm: 127, RequestNorm: 127, Addend: 252}
	if log > 0 {
		p.LogSlots, p.Dim = log, SlotDim(96)<<log
	}
	p, err := p.Balance()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSlotsScoreAsRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := inCells(t, 3)
	random := func() []int16 {
		v := make([]int16, 96)
		for i := range v {
			v[i] = int16(rng.IntN(25) - 12)
		}
		return v
	}
	dot := func(a, b []int16) (sum int64) {
		for i, x := range a {
			sum += int64(x) * int64(b[i])
		}
		return sum
	}
	row, u := make([]int16, p.Dim), random()
	var want []int64
	for c := range p.Slots() {
		v, addend := random(), []int64{0, 252, -252, 8, -8, 7, 9, -120}[c]
		p.PutSlot(row, c, v, addend)
		want = append(want, dot(v, u)+addend)
		if got, a := p.Slot(row, c); !slices.Equal(got, v) || a != addend {
			t.Errorf("cell %d: addend %d, want %d", c, a, addend)
		}
	}
	for c := range p.Slots() {
		if got := dot(row, p.Ask(u, c)); got != want[c] {
			t.Errorf("cell %d: score %d, want %d", c, got, want[c])
		}
	}
	// The split addends are within the bounds assumed by norms.
	record, request := p.norms()
	for a := -p.Addend; a <= p.Addend; a++ {
		high, low := p.split(a)
		if grown := math.Sqrt(float64(127*127 + high*high + low*low)); p.addendScale()*high+low != a || grown > record || 2*max(low, -low) > p.addendScale() {
			t.Errorf("addend %d is %d and %d: norm %g, at most %g", a, high, low, grown, record)
		}
	}
	if want := math.Sqrt(float64(127*127 + 16*16 + 1)); request != want {
		t.Errorf("requests of norm %g, want %g", request, want)
	}
}

// The table of eval/estimate states 2⁻⁹⁰ for eight records in a row.
func TestFailureBoundWithSlots(t *testing.T) {
	for log, want := range map[int]float64{0: -207, 1: -173, 2: -133, 3: -90} {
		if got := inCells(t, log).LogFailure(); math.Abs(got-want) > 2 {
			t.Errorf("%d records in a row: failure 2^%.1f, want 2^%.0f", 1<<log, got, want)
		}
	}
	for name, change := range map[string]func(p *Params){
		"not whole records": func(p *Params) { p.Dim++ },
		"too many":          func(p *Params) { p.LogSlots = 5 },
		"negative":          func(p *Params) { p.LogSlots = -1 },
		"only addends":      func(p *Params) { p.Dim = 16 },
	} {
		p := inCells(t, 3)
		if change(&p); !errors.Is(p.Validate(), cpar.ErrInput) {
			t.Errorf("%s: %v", name, p.Validate())
		}
	}
}

func TestSectionsRoundTrip(t *testing.T) {
	clustered := inCells(t, 3)
	for name, p := range map[string]Sections{"one": {Open: inCells(t, 0)}, "two": {Open: inCells(t, 0), Clustered: &clustered, Records: 1000}, "wide": {Open: inCells(t, 0), Clustered: &clustered, Records: 1000, Wide: true}} {
		b, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeSections(b)
		again, _ := got.AppendBinary(nil)
		if err != nil || !bytes.Equal(again, b) || got.Rows() != p.Rows() || got.Open != p.Open {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for cut := range len(b) {
			if got, err := DecodeSections(b[:cut]); err == nil {
				t.Errorf("%s: %d bytes of %d are %+v", name, cut, len(b), got)
			}
		}
	}
	wide := clustered
	wide.Block = 64
	for name, p := range map[string]Sections{
		"rows of one record": {Open: inCells(t, 0), Clustered: new(Params), Records: 1000},
		"clusters twice":     {Open: clustered, Clustered: &clustered, Records: 1000},
		"another block":      {Open: inCells(t, 0), Clustered: &wide, Records: 1000},
		"too few records":    {Open: inCells(t, 0), Clustered: &clustered, Records: 7},
	} {
		if b, err := p.AppendBinary(nil); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	for n, want := range map[int]int{100_000: 55_000, 50_001: 27_501, 4: 3, 1: 1} {
		if got := CellSize(n, 4, true); got != want {
			t.Errorf("%d records in 4 wide clusters: %d rows, want %d", n, got, want)
		}
	}
	for n, want := range map[int]int{8: 2, 1000: 215, 1_000_000: 215_000, 50_001: 10_751} {
		if got := CellSize(n, 8, false); got != want || 25*8*got < 43*n {
			t.Errorf("%d records in 8 clusters: %d rows, want %d", n, got, want)
		}
	}
}

func FuzzDecodeParts(f *testing.F) {
	clustered := inCells(f, 3)
	for _, p := range []Sections{{Open: inCells(f, 0)}, {Open: inCells(f, 0), Clustered: &clustered, Records: 1000}} {
		b, err := p.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodeSections(b)
		if err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		if again, err := p.AppendBinary(nil); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%x was read, %x is written, %v", b, again, err)
		}
	})
}

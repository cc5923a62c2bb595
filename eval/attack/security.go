package attack

import (
	"fmt"

	"cpar/eval/estimate"
	"cpar/eval/measure"
	"cpar/internal/lattice"
)

// Security holds estimates for scheme sealed: for the rings in use and similar
// rings, and for the formats in use.
type Security struct {
	Rings   []RingBits   `json:"rings"`
	Formats []FormatCost `json:"formats"`
}

// RingBits holds log₂ of the cost of attacks on a ring. Each pair holds the
// values for classical and for quantum computers.
type RingBits struct {
	estimate.Ring
	BlockSize int        `json:"block_size"`
	Dimension int        `json:"dimension"`
	Primal    [2]float64 `json:"primal_core"`
	Dual      [2]float64 `json:"dual_core"`
	// Standard is the cost of the cheaper attack in the cost models of the
	// Homomorphic Encryption Standard.
	Standard [2]float64 `json:"standard"`
	// Allowed is the largest log₂ q that gives 128 bits of security at this
	// degree.
	Allowed [2]float64 `json:"allowed"`
}

// A FormatCost holds the failure rate of one score and the sizes of one format.
// HintBytes and RecordBytes are bytes per record.
type FormatCost struct {
	lattice.Params `json:"-"`
	estimate.Ring
	Dim          int     `json:"dim"`
	InRow        int     `json:"in_row"`
	Block        int     `json:"block"`
	LogFailure   float64 `json:"log_failure"`
	HintBytes    float64 `json:"hint_bytes"`
	RecordBytes  float64 `json:"record_bytes"`
	RequestBytes int     `json:"request_bytes"`
}

// formatsInUse lists the formats that user/internal/rows produces: one for
// profile "paper", and two for other profiles with 96 numbers per record,
// without cells and with eight cells.
var formatsInUse = []lattice.Params{
	{Dim: 1344, RecordNorm: 161, RequestNorm: 173, Addend: 4380, LogT: 16},
	shortVectors,
	{Dim: lattice.SlotDim(shortVectors.Dim) << 3, LogSlots: 3, RecordNorm: 127, RequestNorm: 127, Addend: 252, LogT: 15},
}

var shortVectors = lattice.Params{Dim: 96, RecordNorm: 127, RequestNorm: 127, Addend: 252, LogT: 15}

var (
	// ourRings lists the rings in use, beginning with the most frequent.
	ourRings = []*lattice.Ring{lattice.Fast, lattice.Careful}
	// blocks lists the block widths that command cpar build offers.
	blocks = []int{16, 32, 64, 128}
)

// ComputeSecurity computes all estimates from parameters, without data.
func ComputeSecurity() (*Security, error) {
	s := new(Security)
	for log := 45; log <= 54; log++ {
		s.Rings = append(s.Rings, ringBits(estimate.Ring{N: 2048, LogQ: log}))
	}
	for _, log := range []int{48, 52, 56, 60, 64, 80, 96, 101, 109} {
		s.Rings = append(s.Rings, ringBits(estimate.Ring{N: 4096, LogQ: log}))
	}
	for _, r := range ourRings {
		for _, p := range formatsInUse {
			for _, p.Block = range blocks {
				p.LogN = r.LogN
				f, err := formatCost(p)
				if err != nil {
					return nil, err
				}
				s.Formats = append(s.Formats, f)
			}
		}
	}
	return s, nil
}

func formatCost(p lattice.Params) (FormatCost, error) {
	p, err := p.Balance()
	records := float64(p.Records() * p.Slots())
	return FormatCost{Params: p, Ring: ringOf(p.Ring()), Dim: p.Dim, InRow: p.Slots(), Block: p.Block, LogFailure: measure.RoundTo(p.LogFailure(), 1),
		HintBytes: float64(p.HintBytes()) / records, RecordBytes: float64(p.MatrixBytes()) / records, RequestBytes: p.MatrixBytes()}, err
}

func ringOf(r *lattice.Ring) estimate.Ring { return estimate.Ring{N: r.N, LogQ: r.LogQ} }

func ringBits(r estimate.Ring) RingBits {
	lwe := r.LWE()
	primal := lwe.Primal()
	price := func(m estimate.Model) float64 { return m.Cost(primal.BlockSize, primal.Dimension) }
	cheaper := func(m estimate.Model) float64 { return measure.RoundTo(min(price(m), lwe.Dual(m).Bits), 1) }
	out := RingBits{Ring: r, BlockSize: primal.BlockSize, Dimension: primal.Dimension,
		Primal:   [2]float64{measure.RoundTo(price(estimate.CoreClassical), 1), measure.RoundTo(price(estimate.CoreQuantum), 1)},
		Dual:     [2]float64{measure.RoundTo(lwe.Dual(estimate.CoreClassical).Bits, 1), measure.RoundTo(lwe.Dual(estimate.CoreQuantum).Bits, 1)},
		Standard: [2]float64{cheaper(estimate.StandardClassical), cheaper(estimate.StandardQuantum)}}
	out.Allowed[0], out.Allowed[1], _ = lattice.Standard(r.N)
	return out
}

func (s *Security) Tables() []measure.Table {
	rings := measure.Table{Name: "security", Title: "Bits of security of a ring, ternary secrets and σ = 3.2: estimates, classical / quantum. Core-SVP counts one sieve, the standard (2018) all of BKZ; it gives 128 bits up to the log q in the last column",
		Columns: []string{"N", "log q", "", "block size", "dimension", "core-SVP primal", "core-SVP dual", "standard's models", "standard allows"}}
	for _, r := range s.Rings {
		rings.Rows = append(rings.Rows, []string{measure.FormatInt(r.N), measure.FormatInt(r.LogQ), ringLabel(r.Ring), measure.FormatInt(r.BlockSize), measure.FormatInt(r.Dimension),
			both(r.Primal), both(r.Dual), both(r.Standard), both(r.Allowed)})
	}
	formats := measure.Table{Name: "security-formats", Title: "Bound on the failure rate of a score for the worst allowed vectors, and bytes by block width D, with C records in a row",
		Columns: []string{"N", "log q", "", "dim", "C", "D", "failure 2^", "hint B a record", "record B", "request kB"}}
	for _, f := range s.Formats {
		formats.Rows = append(formats.Rows, []string{measure.FormatInt(f.N), measure.FormatInt(f.LogQ), ringLabel(f.Ring), measure.FormatInt(f.Dim), measure.FormatInt(f.InRow),
			measure.FormatInt(f.Block), measure.FormatDecimal(f.LogFailure, 0), measure.FormatDecimal(f.HintBytes, 1), measure.FormatDecimal(f.RecordBytes, 0), measure.FormatDecimal(float64(f.RequestBytes)/1e3, 1)})
	}
	return []measure.Table{rings, formats}
}

func ringLabel(r estimate.Ring) string {
	switch r {
	case ringOf(lattice.Fast):
		return "in use"
	case ringOf(lattice.Careful):
		return "--careful"
	}
	return ""
}

func both(x [2]float64) string {
	return fmt.Sprintf("%s / %s", measure.FormatDecimal(x[0], 1), measure.FormatDecimal(x[1], 1))
}

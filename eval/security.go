package eval

import (
	"slices"

	"cpar/eval/estimate"
	"cpar/internal/lattice"
)

// Security is what is computed of the parameters of scheme sealed, those that it has and
// those that it could have.
type Security struct {
	Rings   []RingBits   `json:"rings"`
	Formats []FormatCost `json:"formats"`
	// Rows are formats with several records in a row, of which a request asks one, and
	// Million what such a format costs with that many photos.
	Rows    []MultiRecordFailure `json:"rows"`
	Million []MultiRecordCost    `json:"million"`
}

// RingBits are log₂ of what attacks on a ring cost, against classical and quantum computers.
type RingBits struct {
	estimate.Ring
	BlockSize int        `json:"block_size"`
	Dimension int        `json:"dimension"`
	Primal    [2]float64 `json:"primal_core"`
	Dual      [2]float64 `json:"dual_core"`
	// Standard is the cheaper of both attacks by the cost models of the standard, Allowed
	// the greatest log₂ q to which it gives 128 bits at this degree.
	Standard [2]float64 `json:"standard"`
	Allowed  [2]float64 `json:"allowed"`
}

// A FormatCost is the failure of one score and the bytes of one profile's vectors in one
// format. Hints and records are counted by the record.
type FormatCost struct {
	estimate.Format
	LogFailure   float64 `json:"log_failure"`
	HintBytes    float64 `json:"hint_bytes"`
	RecordBytes  float64 `json:"record_bytes"`
	RequestBytes int     `json:"request_bytes"`
}

// A RowFailure is the failure of a format by the bits that are kept of hints.
type MultiRecordFailure struct {
	estimate.Ring
	LogT       int             `json:"log_t"`
	Block      int             `json:"block"`
	InRow      int             `json:"in_row"`
	LogFailure map[int]float64 `json:"log_failure_by_hint_bits"`
}

// A RowCost is what a million photos cost in a format, each in Copies places on average.
type MultiRecordCost struct {
	FormatCost
	Copies float64 `json:"copies"`
	Reply  float64 `json:"million_reply_bytes"`
	Hints  float64 `json:"million_hint_bytes"`
	Cloud  float64 `json:"million_record_bytes"`
}

// rareFailure is log₂ of the failure that the fewest bits of hints are chosen for: of a
// million scores one is wrong once in 2⁶⁰ requests.
const rareFailure = -80

// The vectors of profile paper and of the others, of 96 numbers, as user/internal/rows
// makes them for scheme sealed.
var (
	paperVectors = estimate.Vectors{Dim: 1344, RecordNorm: 161, RequestNorm: 173, Addend: 4380, LogT: 16}
	unitVectors  = estimate.Vectors{Dim: 96, RecordNorm: 127, RequestNorm: 127, Addend: 252, LogT: 15}
)

// The program's rings, that of most indexes first, and others that were looked at.
var (
	ourRings   = []estimate.Ring{{N: lattice.Fast.N, LogQ: lattice.Fast.LogQ}, {N: lattice.Careful.N, LogQ: lattice.Careful.LogQ}}
	otherRings = []estimate.Ring{{N: 2048, LogQ: 46}, {N: 2048, LogQ: 48}, {N: 2048, LogQ: 50}, {N: 4096, LogQ: 60}}
	hintBits   = []int{24, 25, 26, 27, 28, 30}
	// blocks are the widths that cpar build offers.
	blocks = []int{16, 32, 64, 128}
)

// ComputeSecurity computes all of it. It needs no data.
func ComputeSecurity() *Security {
	s := new(Security)
	for log := 45; log <= 54; log++ {
		s.Rings = append(s.Rings, ringBits(estimate.Ring{N: 2048, LogQ: log}))
	}
	for _, log := range []int{48, 52, 56, 60, 64, 80, 96, 101, 109} {
		s.Rings = append(s.Rings, ringBits(estimate.Ring{N: 4096, LogQ: log}))
	}
	for _, r := range slices.Concat(ourRings, otherRings) {
		for _, v := range []estimate.Vectors{paperVectors, unitVectors} {
			for _, d := range blocks {
				f := estimate.Format{Ring: r, Vectors: v, Block: d, RecordsPerRow: 1, HintBits: estimate.HintBits}
				if !slices.Contains(ourRings, r) {
					f = f.WithMinHintBits(rareFailure)
				}
				s.Formats = append(s.Formats, formatCost(f))
			}
		}
		s.addRows(r)
	}
	return s
}

// addRows adds formats with several records of 96 numbers in a row.
func (s *Security) addRows(r estimate.Ring) {
	finer := unitVectors
	finer.LogT++
	widths := []int{32}
	if slices.Contains(ourRings, r) {
		widths = blocks
	}
	for _, v := range []estimate.Vectors{unitVectors, finer} {
		for _, d := range widths {
			for c := 1; c <= 16; c *= 2 {
				row := MultiRecordFailure{Ring: r, LogT: v.LogT, Block: d, InRow: c, LogFailure: map[int]float64{}}
				for _, h := range hintBits {
					bits, _ := estimate.Format{Ring: r, Vectors: v.WithAddend(), Block: d, RecordsPerRow: c, HintBits: h}.Failure()
					row.LogFailure[h] = RoundTo(bits, 1)
				}
				s.Rows = append(s.Rows, row)
			}
		}
	}
	for _, c := range []struct {
		inRow  int
		copies float64
	}{{4, 1.25}, {8, 1.5}, {8, 1.7}, {16, 2}} {
		for _, d := range []int{32, 64, 128} {
			f := estimate.Format{Ring: r, Vectors: unitVectors.WithAddend(), Block: d, RecordsPerRow: c.inRow}.WithMinHintBits(rareFailure)
			places := 1e6 * c.copies
			cost := MultiRecordCost{FormatCost: formatCost(f), Copies: c.copies, Reply: places * f.ReplyBytes()}
			cost.Hints, cost.Cloud = places*cost.HintBytes, places*cost.RecordBytes
			s.Million = append(s.Million, cost)
		}
	}
}

func formatCost(f estimate.Format) FormatCost {
	bits, _ := f.Failure()
	return FormatCost{Format: f, LogFailure: RoundTo(bits, 1), HintBytes: f.HintBytes(), RecordBytes: f.RecordBytes(), RequestBytes: f.RequestBytes()}
}

func ringBits(r estimate.Ring) RingBits {
	lwe := r.LWE()
	primal := lwe.Primal()
	price := func(m estimate.Model) float64 { return m.Cost(primal.BlockSize, primal.Dimension) }
	cheaper := func(m estimate.Model) float64 { return RoundTo(min(price(m), lwe.Dual(m).Bits), 1) }
	out := RingBits{Ring: r, BlockSize: primal.BlockSize, Dimension: primal.Dimension,
		Primal:   [2]float64{RoundTo(price(estimate.CoreClassical), 1), RoundTo(price(estimate.CoreQuantum), 1)},
		Dual:     [2]float64{RoundTo(lwe.Dual(estimate.CoreClassical).Bits, 1), RoundTo(lwe.Dual(estimate.CoreQuantum).Bits, 1)},
		Standard: [2]float64{cheaper(estimate.StandardClassical), cheaper(estimate.StandardQuantum)}}
	out.Allowed[0], out.Allowed[1], _ = lattice.Standard(r.N)
	return out
}

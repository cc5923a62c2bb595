package attack

import (
	"fmt"
	"maps"
	"slices"

	"cpar/eval/estimate"
	"cpar/eval/measure"
	"cpar/internal/lattice"
)

// Security is computed from the parameters of scheme sealed: those in use, and
// alternatives.
type Security struct {
	Rings   []RingBits   `json:"rings"`
	Formats []FormatCost `json:"formats"`
	// Rows are formats with several records per row, of which a request selects
	// one. Million is the cost of such formats with a million photos.
	Rows    []MultiRecordFailure `json:"rows"`
	Million []MultiRecordCost    `json:"million"`
}

// RingBits are log₂ of the cost of attacks on a ring, by classical and quantum
// computers.
type RingBits struct {
	estimate.Ring
	BlockSize int        `json:"block_size"`
	Dimension int        `json:"dimension"`
	Primal    [2]float64 `json:"primal_core"`
	Dual      [2]float64 `json:"dual_core"`
	// Standard is the cost of the cheaper attack by the cost models of the
	// standard. Allowed is the largest log₂ q with 128 bits at this degree.
	Standard [2]float64 `json:"standard"`
	Allowed  [2]float64 `json:"allowed"`
}

// A FormatCost is the failure rate of one score and the bytes of one profile's
// vectors in one format. Hints and records are counted per record.
type FormatCost struct {
	estimate.Format
	LogFailure   float64 `json:"log_failure"`
	HintBytes    float64 `json:"hint_bytes"`
	RecordBytes  float64 `json:"record_bytes"`
	RequestBytes int     `json:"request_bytes"`
}

// A MultiRecordFailure is the failure rate of a format by the number of hint
// bits kept.
type MultiRecordFailure struct {
	estimate.Ring
	LogT       int             `json:"log_t"`
	Block      int             `json:"block"`
	InRow      int             `json:"in_row"`
	LogFailure map[int]float64 `json:"log_failure_by_hint_bits"`
}

// A MultiRecordCost is the cost of a million photos in a format, each with
// Copies copies on average.
type MultiRecordCost struct {
	FormatCost
	Copies float64 `json:"copies"`
	Reply  float64 `json:"million_reply_bytes"`
	Hints  float64 `json:"million_hint_bytes"`
	Cloud  float64 `json:"million_record_bytes"`
}

// rareFailure is log₂ of the failure rate for which hint bits are chosen: of a
// million scores one is wrong once in 2⁶⁰ requests.
const rareFailure = -80

// The vectors of profile paper, and those of 96 numbers of the other profiles,
// as user/internal/rows makes them for scheme sealed.
var (
	paperVectors = estimate.Vectors{Dim: 1344, RecordNorm: 161, RequestNorm: 173, Addend: 4380, LogT: 16}
	shortVectors = estimate.Vectors{Dim: 96, RecordNorm: 127, RequestNorm: 127, Addend: 252, LogT: 15}
)

// The rings in use, the most frequent first, and alternatives.
var (
	ourRings   = []estimate.Ring{{N: lattice.Fast.N, LogQ: lattice.Fast.LogQ}, {N: lattice.Careful.N, LogQ: lattice.Careful.LogQ}}
	otherRings = []estimate.Ring{{N: 2048, LogQ: 46}, {N: 2048, LogQ: 48}, {N: 2048, LogQ: 50}, {N: 4096, LogQ: 60}}
	hintBits   = []int{24, 25, 26, 27, 28, 30}
	// blocks are the widths that cpar build offers.
	blocks = []int{16, 32, 64, 128}
)

// ComputeSecurity computes all estimates. It needs no data.
func ComputeSecurity() *Security {
	s := new(Security)
	for log := 45; log <= 54; log++ {
		s.Rings = append(s.Rings, ringBits(estimate.Ring{N: 2048, LogQ: log}))
	}
	for _, log := range []int{48, 52, 56, 60, 64, 80, 96, 101, 109} {
		s.Rings = append(s.Rings, ringBits(estimate.Ring{N: 4096, LogQ: log}))
	}
	for _, r := range slices.Concat(ourRings, otherRings) {
		for _, v := range []estimate.Vectors{paperVectors, shortVectors} {
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

// addRows adds formats with several records of 96 numbers per row.
func (s *Security) addRows(r estimate.Ring) {
	finer := shortVectors
	finer.LogT++
	widths := []int{32}
	if slices.Contains(ourRings, r) {
		widths = blocks
	}
	for _, v := range []estimate.Vectors{shortVectors, finer} {
		for _, d := range widths {
			for c := 1; c <= 16; c *= 2 {
				row := MultiRecordFailure{Ring: r, LogT: v.LogT, Block: d, InRow: c, LogFailure: map[int]float64{}}
				for _, h := range hintBits {
					bits, _ := estimate.Format{Ring: r, Vectors: v.WithAddend(), Block: d, RecordsPerRow: c, HintBits: h}.Failure()
					row.LogFailure[h] = measure.RoundTo(bits, 1)
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
			f := estimate.Format{Ring: r, Vectors: shortVectors.WithAddend(), Block: d, RecordsPerRow: c.inRow}.WithMinHintBits(rareFailure)
			places := 1e6 * c.copies
			cost := MultiRecordCost{FormatCost: formatCost(f), Copies: c.copies, Reply: places * f.ReplyBytes()}
			cost.Hints, cost.Cloud = places*cost.HintBytes, places*cost.RecordBytes
			s.Million = append(s.Million, cost)
		}
	}
}

func formatCost(f estimate.Format) FormatCost {
	bits, _ := f.Failure()
	return FormatCost{Format: f, LogFailure: measure.RoundTo(bits, 1), HintBytes: f.HintBytes(), RecordBytes: f.RecordBytes(), RequestBytes: f.RequestBytes()}
}

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
	formats := measure.Table{Name: "security-formats", Title: "Failure of a score, a bound for the worst vectors that are allowed, and bytes by block width D: of the two rings that there are, and of others with the fewest bits of hints that fail at most once in 2⁸⁰",
		Columns: []string{"N", "log q", "", "dim", "norms", "log t", "D", "hint bits", "failure 2^", "hint B a record", "record B", "request kB"}}
	for _, f := range s.Formats {
		formats.Rows = append(formats.Rows, []string{measure.FormatInt(f.N), measure.FormatInt(f.LogQ), ringLabel(f.Ring), measure.FormatInt(f.Dim), fmt.Sprintf("%g, %g", f.RecordNorm, f.RequestNorm), measure.FormatInt(f.LogT),
			measure.FormatInt(f.Block), measure.FormatInt(f.HintBits), measure.FormatDecimal(f.LogFailure, 0), measure.FormatDecimal(f.HintBytes, 1), measure.FormatDecimal(f.RecordBytes, 0), measure.FormatDecimal(float64(f.RequestBytes)/1e3, 1)})
	}
	rows := measure.Table{Name: "security-rows", Title: "Failure of a score, log₂ of a bound, with C records of 96 numbers in a row, each with its addend as two more, norms of 127, addends of 252, exact replies: by block width and the bits that are kept of hints",
		Columns: []string{"N", "log q", "", "log t", "D", "C"}}
	hints := slices.Sorted(maps.Keys(s.Rows[0].LogFailure))
	for _, h := range hints {
		rows.Columns = append(rows.Columns, measure.FormatInt(h))
	}
	for _, r := range s.Rows {
		row := []string{measure.FormatInt(r.N), measure.FormatInt(r.LogQ), ringLabel(r.Ring), measure.FormatInt(r.LogT), measure.FormatInt(r.Block), measure.FormatInt(r.InRow)}
		for _, h := range hints {
			row = append(row, measure.FormatDecimal(r.LogFailure[h], 0))
		}
		rows.Rows = append(rows.Rows, row)
	}
	million := measure.Table{Name: "security-million", Title: "A million photos of 96 numbers in rows of C, log t = 15, exact replies: bytes of one request and of what is kept, without headers",
		Columns: []string{"N", "log q", "D", "C", "copies", "hint bits", "failure 2^", "request kB", "reply kB", "both kB", "hints MB", "cloud MB"}}
	for _, c := range s.Million {
		million.Rows = append(million.Rows, []string{measure.FormatInt(c.N), measure.FormatInt(c.LogQ), measure.FormatInt(c.Block), measure.FormatInt(c.RecordsPerRow), measure.FormatDecimal(c.Copies, 2), measure.FormatInt(c.HintBits), measure.FormatDecimal(c.LogFailure, 0),
			measure.FormatDecimal(float64(c.RequestBytes)/1e3, 0), measure.FormatDecimal(c.Reply/1e3, 0), measure.FormatDecimal((float64(c.RequestBytes)+c.Reply)/1e3, 0), measure.FormatDecimal(c.Hints/1e6, 1), measure.FormatDecimal(c.Cloud/1e6, 0)})
	}
	return []measure.Table{rings, formats, rows, million}
}

// ringLabel names the use of a ring in the program.
func ringLabel(r estimate.Ring) string {
	switch slices.Index(ourRings, r) {
	case 0:
		return "in use"
	case 1:
		return "--careful"
	}
	return ""
}

func both(x [2]float64) string {
	return fmt.Sprintf("%s / %s", measure.FormatDecimal(x[0], 1), measure.FormatDecimal(x[1], 1))
}

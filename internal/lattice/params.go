package lattice

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"cpar"
)

// DefaultBlock is the default block width D. With it, a request of 1,344
// numbers takes 135 KB (270 KB in ring Careful).
const DefaultBlock = 128

// Params are the public constants of an index, in the notation of doc.go. They
// depend only on its profile, because constants derived from the contents would
// reveal them.
type Params struct {
	// LogN is log₂ N and selects the ring Fast or Careful.
	LogN int
	// Dim is d, the dimension of a request and of a row of C records.
	Dim int
	// LogSlots is log₂ C, 0 for one record per row.
	LogSlots int
	// Block is the block width D, a power of two from 16 to N/16.
	Block int
	// LogT is log₂ t. Scores are exact modulo t.
	LogT int
	// LogRecordScale is log₂ Δ_db, which Balance chooses. Δ_q is Δ/Δ_db.
	LogRecordScale int
	// RecordNorm and RequestNorm bound the Euclidean norms of records and
	// requests, and Addend bounds the magnitude of addends. Rows of several
	// records contain their addends (layout.go). If RecordNorm·RequestNorm +
	// Addend < t/2, no score can wrap.
	RecordNorm, RequestNorm, Addend int64
}

const (
	minBlock         = 16
	maxDim           = 1 << 16
	minLogT, maxLogT = 8, 32
	maxLogSlots      = 4
)

// Ring returns the ring, or nil if no ring has this degree.
func (p Params) Ring() *Ring { return ringOf(p.LogN) }

// Blocks returns B, the number of blocks of a vector.
func (p Params) Blocks() int { return (p.Dim + p.Block - 1) / p.Block }

// Slots returns C, the number of records in a row.
func (p Params) Slots() int { return 1 << p.LogSlots }

// SlotDim returns the number of coordinates of one record in a row.
func (p Params) SlotDim() int { return p.Dim >> p.LogSlots }

// Records returns K, the number of rows in a full group.
func (p Params) Records() int { return 1 << p.LogN / p.Block }

// RowLen returns B·D, the number of words in a row.
func (p Params) RowLen() int { return p.Blocks() * p.Block }

// Words returns B·N, the number of words in the matrix of a group or request.
func (p Params) Words() int { return p.Blocks() << p.LogN }

func (p Params) MatrixBytes() int { return p.Words() * WordBytes }

func (p Params) Groups(n int) int { return (n + p.Records() - 1) / p.Records() }

// LogScale returns log₂ Δ.
func (p Params) LogScale() int { return p.Ring().LogQ - p.LogT }

// LogRequestScale returns log₂ Δ_q.
func (p Params) LogRequestScale() int { return p.LogScale() - p.LogRecordScale }

// Validate rejects parameters that are insecure, that allow scores to wrap
// modulo 2^LogT, or that leave too little room for noise. Errors wrap
// cpar.ErrInput.
func (p Params) Validate() error {
	r := p.Ring()
	if r == nil {
		return refuse("no ring of degree 2^%d", p.LogN)
	}
	if err := secure(r.N, math.Log2(float64(r.Q))); err != nil {
		return fmt.Errorf("checking the ring: %w", err)
	}
	switch {
	case p.Dim < 1 || p.Dim > maxDim:
		return refuse("dimension %d is not in [1, %d]", p.Dim, maxDim)
	case p.LogSlots < 0 || p.LogSlots > maxLogSlots || p.Dim%p.Slots() != 0 || p.LogSlots > 0 && p.SlotDim() <= addendDim:
		return refuse("rows of %d coordinates cannot hold 2^%d records (1 to %d in general)", p.Dim, p.LogSlots, 1<<maxLogSlots)
	case p.Block < minBlock || p.Block > r.N/minPoints || bits.OnesCount(uint(p.Block)) != 1:
		return refuse("block width %d is not a power of two in [%d, %d]", p.Block, minBlock, r.N/minPoints)
	case p.LogT < minLogT || p.LogT > maxLogT:
		return refuse("score modulus 2^%d is not in [2^%d, 2^%d]", p.LogT, minLogT, maxLogT)
	case p.LogRecordScale < 1 || p.LogRequestScale() < 1:
		return refuse("record scale 2^%d is not a scale or leaves none for requests", p.LogRecordScale)
	}
	half := int64(1) << (p.LogT - 1)
	for _, bound := range []int64{p.RecordNorm, p.RequestNorm, p.Addend + 1} {
		if bound < 1 || bound > half {
			return refuse("norms of %d and %d and addends of %d do not fit scores modulo 2^%d", p.RecordNorm, p.RequestNorm, p.Addend, p.LogT)
		}
	}
	// Both norms are below half, so the product fits in 62 bits.
	if p.RecordNorm*p.RequestNorm+p.Addend >= half {
		return refuse("norms of %d and %d and addends of %d can wrap scores modulo 2^%d", p.RecordNorm, p.RequestNorm, p.Addend, p.LogT)
	}
	if f := p.LogFailure(); !(f <= maxLogFailure) {
		return refuse("a score would be wrong with probability 2^%.1f, more than 2^%d: take a smaller score modulus, smaller norms or wider blocks", f, maxLogFailure)
	}
	return nil
}

// Balance returns p with the record scale that minimizes the probability of
// wrong scores.
func (p Params) Balance() (Params, error) {
	if p.Ring() == nil {
		return Params{}, p.Validate()
	}
	least := math.Inf(1)
	best := p
	for p.LogRecordScale = 1; p.LogRequestScale() >= 1; p.LogRecordScale++ {
		if f := p.LogFailure(); f < least {
			least, best = f, p
		}
	}
	if err := best.Validate(); err != nil {
		return Params{}, fmt.Errorf("balancing scales: %w", err)
	}
	return best, nil
}

const ParamsSize = 36

func (p Params) AppendBinary(b []byte) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("writing sealed parameters: %w", err)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(p.Dim))
	b = binary.LittleEndian.AppendUint32(b, uint32(p.Block))
	b = append(b, byte(p.LogT), byte(p.LogRecordScale), byte(p.LogN), byte(p.LogSlots))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.RecordNorm))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.RequestNorm))
	return binary.LittleEndian.AppendUint64(b, uint64(p.Addend)), nil
}

// DecodeParams decodes and validates the output of AppendBinary. Errors wrap
// cpar.ErrCorrupt.
func DecodeParams(b []byte) (Params, error) {
	if len(b) != ParamsSize {
		return Params{}, fmt.Errorf("reading sealed parameters: %w: %d bytes, not %d", cpar.ErrCorrupt, len(b), ParamsSize)
	}
	word := func(at int) int64 { return int64(binary.LittleEndian.Uint64(b[at:])) }
	p := Params{
		LogN: int(b[10]), Dim: int(binary.LittleEndian.Uint32(b)), Block: int(binary.LittleEndian.Uint32(b[4:])),
		LogT: int(b[8]), LogRecordScale: int(b[9]), LogSlots: int(b[11]),
		RecordNorm: word(12), RequestNorm: word(20), Addend: word(28),
	}
	if err := p.Validate(); err != nil {
		// Invalid parameters in stored data mean damage.
		return Params{}, fmt.Errorf("reading sealed parameters: %w: %v", cpar.ErrCorrupt, err)
	}
	return p, nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: sealed parameters: %s", cpar.ErrInput, fmt.Sprintf(format, args...))
}

package estimate

import (
	"math"
	"math/big"

	"cpar/internal/lattice"
)

// A Ring is Z[X]/(X^N+1) modulo the largest prime below 2^LogQ that is 1 modulo
// 2N, with noise of lattice.Sigma and ternary secrets.
type Ring struct {
	N    int `json:"n"`
	LogQ int `json:"log_q"`
}

func (r Ring) Modulus() *big.Int {
	step := big.NewInt(int64(2 * r.N))
	q := new(big.Int).Lsh(big.NewInt(1), uint(r.LogQ))
	q.Sub(q, step).Add(q, big.NewInt(1))
	for !q.ProbablyPrime(20) {
		q.Sub(q, step)
	}
	return q
}

// gap returns 2^LogQ − Q + 1, which bounds the error of treating Q as 2^LogQ.
func (r Ring) gap() float64 {
	top := new(big.Int).Lsh(big.NewInt(1), uint(r.LogQ))
	gap, _ := new(big.Float).SetInt(top.Sub(top, r.Modulus())).Float64()
	return gap + 1
}

// LWE returns the problem behind requests and records of the ring, with one
// sample per record.
func (r Ring) LWE() LWE {
	return LWE{Dim: r.N, LogQ: float64(r.LogQ), Sigma: lattice.Sigma, Secret: Ternary}
}

// wordBytes returns the size of a stored word in whole bytes, with seven
// rounded up to eight.
func (r Ring) wordBytes() int {
	if r.LogQ <= 48 {
		return (r.LogQ + 7) / 8
	}
	return 8
}

// A Vectors bounds the integer vectors of photos.
type Vectors struct {
	Dim int `json:"dim"`
	// RecordNorm and RequestNorm bound norms, Addend the magnitude of addends.
	// Scores are exact modulo 2^LogT.
	RecordNorm  float64 `json:"record_norm"`
	RequestNorm float64 `json:"request_norm"`
	Addend      float64 `json:"addend"`
	LogT        int     `json:"log_t"`
}

// Fit reports whether no score can wrap.
func (v Vectors) Fit() bool {
	return v.RecordNorm*v.RequestNorm+v.Addend < math.Exp2(float64(v.LogT-1))
}

// WithAddend returns v with the addend as two more coordinates, M·high + low,
// where the request has M and 1. A row of several records has no other space
// for their addends. M is near the square root of the addend, which balances
// the growth of record and request.
func (v Vectors) WithAddend() Vectors {
	m := math.Ceil(math.Sqrt(v.Addend))
	low := math.Floor(m / 2)
	high := math.Ceil((v.Addend - low) / m)
	v.Dim += 2
	v.RecordNorm = math.Sqrt(v.RecordNorm*v.RecordNorm + high*high + low*low)
	v.RequestNorm = math.Sqrt(v.RequestNorm*v.RequestNorm + m*m + 1)
	return v
}

// A Format combines a ring, vectors, and the precision of hints and replies.
type Format struct {
	Ring
	Vectors
	// Block is D, the block width. RecordsPerRow is C, the number of
	// consecutive records in a row, of which a request asks one.
	Block         int `json:"block"`
	RecordsPerRow int `json:"in_row"`
	// HintBits is the precision of each coefficient of a hint. Replies are
	// exact.
	HintBits int `json:"hint_bits"`
}

// HintBits is the precision used by internal/lattice.
const HintBits = 26

func (f Format) blocks() int { return (f.RecordsPerRow*f.Dim + f.Block - 1) / f.Block }

func (f Format) perGroup() float64 { return float64(f.RecordsPerRow * f.N / f.Block) }

// failure returns log₂ of the bound on the probability of a wrong score, with
// records scaled by 2^recordScale, in a ring with this gap.
// internal/lattice/noise.go derives it for one record per row. With C records
// per row each element of e′ meets one of the C·K records. A request is 0
// outside of one position, so its norm is unchanged.
func (f Format) failure(recordScale int, gap float64) float64 {
	exp := func(n int) float64 { return math.Exp2(float64(n)) }
	scale := f.LogQ - f.LogT
	request := exp(scale-recordScale) * lattice.Sigma * f.RequestNorm
	record := lattice.Sigma * (exp(recordScale)*math.Sqrt(f.perGroup())*f.RecordNorm +
		lattice.MaxNoise*math.Sqrt(float64(f.N*f.blocks())))
	hint := math.Sqrt(2*float64(f.N)/3) * (exp(f.LogQ-1-f.HintBits) + gap)
	room := exp(scale-1) - lattice.MaxNoise - gap
	if room <= 0 {
		return 1
	}
	return 1 - room*room/(2*(request*request+record*record+hint*hint))*math.Log2E
}

// Failure returns log₂ of the bound with the best scale of records, and log₂ of
// that scale.
func (f Format) Failure() (bits float64, recordScale int) {
	bits = math.Inf(1)
	gap := f.gap()
	for s := 1; s < f.LogQ-f.LogT; s++ {
		if b := f.failure(s, gap); b < bits {
			bits, recordScale = b, s
		}
	}
	return bits, recordScale
}

// WithMinHintBits returns f with the fewest hint bits whose failure is at most
// 2^most. If none reach it, it stops where two more bits improve the exponent
// by less than a tenth.
func (f Format) WithMinHintBits(most float64) Format {
	for f.HintBits = 8; f.HintBits < f.LogQ; f.HintBits++ {
		bits, _ := f.Failure()
		next := f
		next.HintBits += 2
		better, _ := next.Failure()
		if bits <= most || bits < -1 && better > 1.1*bits {
			break
		}
	}
	return f
}

// HintBytes returns the bytes per record that an owner fetches once.
func (f Format) HintBytes() float64 { return float64(f.N*f.HintBits) / 8 / f.perGroup() }

func (f Format) RecordBytes() float64 {
	return float64(f.blocks()*f.N*f.wordBytes()) / f.perGroup()
}

func (f Format) RequestBytes() int { return f.blocks() * f.N * f.wordBytes() }

func (f Format) ReplyBytes() float64 { return float64(f.wordBytes()) / float64(f.RecordsPerRow) }

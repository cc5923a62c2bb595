// Package embed turns L1 distances into squared L2 distances.
//
//	levels (m × uint16 in 0…β) ─▶ z (m̂ × int16),  ‖z_a − z_b‖² ≈ m̂·L1Levels(a, b)
//
// Levels are features rounded to integers 0 to β (package vector). The paper
// maps a level x to the unary vector of x ones and β − x zeros. The squared L2
// distance of unary vectors equals the L1 distance of their levels. A random
// matrix of ±1 (Johnson and Lindenstrauss, Achlioptas 2003) projects the m·β
// elements to m̂ = α·m·log_γ(β+1) values. With m = 864, β = 999, α = 1, γ = 100
// this reduces 863,136 elements to 1296 by a matrix of a gigabyte.
//
// This package forms neither the unary vector nor the matrix. The projection is
// a sum over the coordinates. A coordinate of level x adds a walk of x steps,
// each a vector of m̂ signs. Starting all walks at a common baseline changes no
// difference between photos:
//
//	z(x) = Σ_d [ Σ_{l = base_d+1 … x_d} step(d, l) − Σ_{l = x_d+1 … base_d} step(d, l) ]
//
// Only the steps between a photo and the baseline are therefore needed. Steps
// are read from a keyed stream by position, so photos added later use the same
// steps.
//
// The mean of ‖z_a − z_b‖²/m̂ is the L1 distance in levels. The mean relative
// error is √(4/(π·m̂)) at every distance, 3.1 % for m̂ = 1296. An L1 distance
// of 1 between features corresponds to β/2 levels.
//
// # The stream
//
// The key is the first 32 bytes of HKDF-SHA-256(secret, no salt, info), where
// info is the 12 bytes "cpar embed 1" followed by m, β and m̂ as little-endian
// uint64. Let R = ⌈m̂/128⌉. Step l ≥ 1 of coordinate d ≥ 0 consists of the R
// blocks of AES-256-CTR from counter (d·β + l − 1)·R, a big-endian 128-bit
// word. Bit i mod 8 (lowest first) of byte ⌊i/8⌋ is sign i: 1 for +1, 0 for −1.
// The secret suffices to invert the projection, so it stays with the owner.
package embed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"cpar"
)

const (
	maxM    = 1 << 20
	maxBeta = 1<<16 - 1 // levels are uint16
	maxMHat = 1 << 16
)

// l1Features is the number of L1-normalised features in a vector of profile
// "paper", each with Σ|x| ≤ 1.
const l1Features = 6

// Dimension returns m̂ = α·m·log_γ(β+1), rounded to the nearest integer. It
// returns 0 unless m̂ is positive.
func Dimension(m, beta int, alpha, gamma float64) int {
	d := math.Round(alpha * float64(m) * math.Log(float64(beta)+1) / math.Log(gamma))
	if !(d > 0 && d <= math.MaxInt32) {
		return 0
	}
	return int(d)
}

// MaxSteps returns the maximum of Σ_d |x_d − base_d|, which also bounds |z_j|,
// for vectors of profile "paper". A photo's L1 distance from the middle levels
// is at most B = 6·β/2 + m/2, because six features have norms of at most 1, a
// unit is β/2 levels, and rounding adds half a level per coordinate. Medians
// are at most twice as far from any point as the photos are on average.
// Baselines are therefore at most 2B from the middle, and a photo is at most 3B
// = 10,287 from them. The result is at most 32,767, which keeps the sums of
// EmbedAll exact.
func MaxSteps(m, beta int) int {
	return min(3*(l1Features*beta+m)/2, math.MaxInt16)
}

// Baselines returns the median level of each coordinate (the lower of two
// medians). Medians minimise the number of steps. All vectors must have the
// same length and levels of at most beta. Errors wrap cpar.ErrInput.
func Baselines(levels [][]uint16, beta int) ([]uint16, error) {
	if len(levels) == 0 {
		return nil, fmt.Errorf("finding baselines: %w: no vectors", cpar.ErrInput)
	}
	if beta < 1 || beta > maxBeta {
		return nil, fmt.Errorf("finding baselines: %w: β = %d", cpar.ErrInput, beta)
	}
	m := len(levels[0])
	for i, x := range levels {
		if err := checkLevels(x, m, beta); err != nil {
			return nil, fmt.Errorf("finding baselines: vector %d: %w", i, err)
		}
	}
	baselines := make([]uint16, m)
	column := make([]uint16, len(levels))
	for d := range m {
		for i, x := range levels {
			column[i] = x[d]
		}
		slices.Sort(column)
		baselines[d] = column[(len(column)-1)/2]
	}
	return baselines, nil
}

func checkLevels(x []uint16, m, beta int) error {
	if len(x) != m {
		return fmt.Errorf("%w: %d levels, want %d", cpar.ErrInput, len(x), m)
	}
	for d, l := range x {
		if int(l) > beta {
			return fmt.Errorf("%w: level %d of coordinate %d is above β = %d", cpar.ErrInput, l, d, beta)
		}
	}
	return nil
}

// Projection embeds levels under one secret. It never prints the secret and is
// safe for concurrent use.
type Projection struct {
	block         cipher.Block // AES under the derived key
	m, beta, mhat int
	maxSteps      int
	baselines     []uint16
}

// New derives from `secret` the projection of m levels in 0…beta to `mhat`
// values, relative to `baselines` (m levels, copied). Vectors are comparable
// only under the same dimensions, secret and baselines. Errors wrap
// cpar.ErrInput.
func New(secret [32]byte, m, beta, mhat int, baselines []uint16) (*Projection, error) {
	if m < 1 || m > maxM || beta < 1 || beta > maxBeta || mhat < 1 || mhat > maxMHat {
		return nil, fmt.Errorf("making a projection: %w: m = %d, β = %d, m̂ = %d", cpar.ErrInput, m, beta, mhat)
	}
	if err := checkLevels(baselines, m, beta); err != nil {
		return nil, fmt.Errorf("making a projection: baselines: %w", err)
	}
	info := []byte("cpar embed 1")
	for _, n := range []int{m, beta, mhat} {
		info = binary.LittleEndian.AppendUint64(info, uint64(n))
	}
	key, err := hkdf.Key(sha256.New, secret[:], nil, string(info), 32)
	if err != nil {
		return nil, fmt.Errorf("making a projection: deriving its key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("making a projection: %w", err)
	}
	return &Projection{
		block: block, m: m, beta: beta, mhat: mhat,
		maxSteps: MaxSteps(m, beta), baselines: slices.Clone(baselines),
	}, nil
}

// MHat returns m̂, the number of values of an embedded photo.
func (p *Projection) MHat() int { return p.mhat }

const redacted = "embed projection (redacted)"

func (Projection) String() string               { return redacted }
func (Projection) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (Projection) Format(f fmt.State, _ rune)   { fmt.Fprint(f, redacted) }

func (p *Projection) rowBytes() int { return (p.mhat + 127) / 128 * aes.BlockSize }

func (p *Projection) steps(bits []byte, d, first int) {
	blocks := uint64(p.rowBytes() / aes.BlockSize)
	var counter [aes.BlockSize]byte
	// The counter is below 2²⁰·2¹⁶·2⁹, so its upper half stays 0.
	binary.BigEndian.PutUint64(counter[8:], uint64(d*p.beta+first-1)*blocks)
	clear(bits)
	cipher.NewCTR(p.block, counter[:]).XORKeyStream(bits, bits)
}

// check validates levels and their distance from the baselines (MaxSteps).
func (p *Projection) check(x []uint16) error {
	if err := checkLevels(x, p.m, p.beta); err != nil {
		return err
	}
	steps := 0
	for d, l := range x {
		steps += max(int(l), int(p.baselines[d])) - min(int(l), int(p.baselines[d]))
	}
	if steps > p.maxSteps {
		return fmt.Errorf("%w: %d steps from the baseline, more than the %d of L1-normalised features", cpar.ErrInput, steps, p.maxSteps)
	}
	return nil
}

// Byte i of spread8[b] is bit i of b.
var spread8 = func() (table [256]uint64) {
	for b := range table {
		for i := range 8 {
			table[b] |= uint64(b>>i&1) << (8 * i)
		}
	}
	return table
}()

// tally counts the ones in each column of up to 2³¹ rows of bits.
type tally struct {
	lanes  []uint64 // one byte per column, eight per word
	rows   int      // rows counted in `lanes`, at most 255
	counts []int32  // counts of earlier rows
}

func newTally(rowBytes int) *tally {
	return &tally{lanes: make([]uint64, rowBytes), counts: make([]int32, 8*rowBytes)}
}

func (t *tally) add(row []byte) {
	if t.rows == 255 { // one more could overflow a byte
		t.carry()
	}
	lanes := t.lanes[:len(row)]
	for i, b := range row {
		lanes[i] += spread8[b]
	}
	t.rows++
}

func (t *tally) carry() {
	for i, word := range t.lanes {
		for j := range 8 {
			t.counts[8*i+j] += int32(word >> (8 * j) & 0xff)
		}
	}
	clear(t.lanes)
	t.rows = 0
}

const stepsPerRead = 256

// Embed embeds one photo exactly as EmbedAll does. Errors wrap cpar.ErrInput.
func (p *Projection) Embed(levels []uint16) ([]int16, error) {
	if err := p.check(levels); err != nil {
		return nil, fmt.Errorf("embedding a photo: %w", err)
	}
	// Bit b means the sign 2b − 1, so z = 2·(ones above − ones below) − (steps
	// above − steps below), counted above and below the baseline.
	size := p.rowBytes()
	above, below := newTally(size), newTally(size)
	bits := make([]byte, min(p.beta, stepsPerRead)*size)
	balance := int32(0)
	for d, x := range levels {
		base := p.baselines[d]
		side, low, high := above, base, x
		if x < base {
			side, low, high = below, x, base
		}
		if low == high {
			continue
		}
		balance += int32(x) - int32(base)
		for l := int(low); l < int(high); l += stepsPerRead {
			walk := bits[:min(int(high)-l, stepsPerRead)*size]
			p.steps(walk, d, l+1)
			for ; len(walk) > 0; walk = walk[size:] {
				side.add(walk[:size])
			}
		}
	}
	above.carry()
	below.carry()
	z := make([]int16, p.mhat)
	for j := range z {
		z[j] = int16(2*(above.counts[j]-below.counts[j]) - balance)
	}
	return z, nil
}

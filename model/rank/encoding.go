package rank

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"cpar"
)

// The encoding of a Calibrated, in little-endian order, with the symbols of its
// comment:
//
//	 0  magic "cpar.cal" (8 bytes)
//	 8  version uint32 = 4
//	12  neighbours uint32, 1 to 80
//	16  photos uint32, 1 to 2³¹ − 1
//	20  words uint32
//	24  decay, rarity, own, bonus, six coefficients of the curve, two of the trend of λ: float64 each
//	120 knots uint32, 0 to 24, then per knot: predicted, observed: float64, both ascending in (0, 1)
//	 …  calibration photos uint32, then for each of the probabilities 0.02, 0.04 … 0.98: the
//	    numbers of words of at least this probability, and of right ones, uint32 each, not rising
//	 …  per word, in ascending order of bytes: count uint32, 1 to photos, loudness relative
//	    to the trend float32, 10⁻⁶ to 10⁶, length uint32, the bytes
//
// Version 3 lacks the bonus and the counts of words, and its ranker considers
// only words of neighbours. Every ranker has exactly one encoding, without
// trailing bytes.
const (
	calMagic    = "cpar.cal"
	calVersion  = 4
	oldVersion  = 3
	calPreamble = 24
	parameters  = 4 + curveTerms + 2
	bonusAt     = 3 // index of the bonus among the parameters
	// maxLouder bounds a word's loudness relative to the trend.
	maxLouder = 1e6
)

// AppendBinary appends the encoding of c to data. The error is always nil.
func (c *Calibrated) AppendBinary(data []byte) ([]byte, error) {
	data = append(data, calMagic...)
	version, values := calVersion, slices.Concat([]float64{c.decay, c.loudnessExponent, c.guessShare, c.rareBonus}, c.curve[:], c.trend[:])
	if c.onlyNeighbours {
		version, values = oldVersion, slices.Delete(values, bonusAt, bonusAt+1)
	}
	for _, n := range []int{version, c.neighbours, c.photos, len(c.words)} {
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	data = binary.LittleEndian.AppendUint32(data, uint32(len(c.isotonic)))
	for _, k := range c.isotonic {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(k.predicted))
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(k.observed))
	}
	if !c.onlyNeighbours {
		data = binary.LittleEndian.AppendUint32(data, c.evidence.photos)
		for _, l := range c.evidence.levels {
			data = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(data, l.words), l.right)
		}
	}
	words := make([]string, 0, len(c.words))
	for w := range c.words {
		words = append(words, w)
	}
	slices.Sort(words)
	for _, w := range words {
		data = binary.LittleEndian.AppendUint32(data, uint32(c.words[w].count))
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(c.words[w].loudnessRatio))
		data = binary.LittleEndian.AppendUint32(data, uint32(len(w)))
		data = append(data, w...)
	}
	return data, nil
}

func (c *Calibrated) MarshalBinary() ([]byte, error) { return c.AppendBinary(nil) }

// UnmarshalBinary decodes data without keeping it. On error c is unchanged.
// Errors wrap cpar.ErrCorrupt or cpar.ErrVersion.
func (c *Calibrated) UnmarshalBinary(data []byte) error {
	corrupt := func(what string) error {
		return fmt.Errorf("decoding a ranker: %w: %s", cpar.ErrCorrupt, what)
	}
	if len(data) < calPreamble+8*parameters+4 || string(data[:len(calMagic)]) != calMagic {
		return corrupt("wrong header")
	}
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(data[len(calMagic)+4*i:]) }
	version := field(0)
	if version != calVersion && version != oldVersion {
		return fmt.Errorf("decoding a ranker: %w: %d", cpar.ErrVersion, version)
	}
	neighbours, photos, words := field(1), field(2), field(3)
	if neighbours < 1 || neighbours > MostNeighbours || photos < 1 || photos > math.MaxInt32 {
		return corrupt(fmt.Sprintf("%d neighbours of %d photos", neighbours, photos))
	}
	out := Calibrated{neighbours: int(neighbours), photos: int(photos), words: map[string]wordStats{}, onlyNeighbours: version == oldVersion}
	var values [parameters]float64
	rest, last := data[calPreamble:], ""
	for i := range values {
		if i == bonusAt && out.onlyNeighbours {
			continue
		}
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(rest))
		rest = rest[8:]
		// Fits give parameters far below 1000, and this bound keeps every
		// weight finite.
		if !(math.Abs(values[i]) <= 1000) {
			return corrupt(fmt.Sprintf("parameter %d is %v", i, values[i]))
		}
	}
	out.decay, out.loudnessExponent, out.guessShare, out.rareBonus = values[0], values[1], values[2], values[bonusAt]
	if out.decay < 0 || out.loudnessExponent < 0 || out.loudnessExponent > maxRarity || !(out.guessShare >= 0 && out.guessShare <= 1) || out.rareBonus < 0 {
		return corrupt(fmt.Sprintf("decay %v, rarity %v, own %v, bonus %v", out.decay, out.loudnessExponent, out.guessShare, out.rareBonus))
	}
	copy(out.curve[:], values[4:])
	copy(out.trend[:], values[4+curveTerms:])
	knots := binary.LittleEndian.Uint32(rest)
	if rest = rest[4:]; knots > maxKnots || len(rest) < 16*int(knots) {
		return corrupt(fmt.Sprintf("%d knots", knots))
	}
	var before knot
	for range knots {
		k := knot{math.Float64frombits(binary.LittleEndian.Uint64(rest)), math.Float64frombits(binary.LittleEndian.Uint64(rest[8:]))}
		if !(k.predicted > before.predicted && k.predicted < 1 && k.observed > before.observed && k.observed < 1) {
			return corrupt("calibration knots are not rising")
		}
		out.isotonic, before, rest = append(out.isotonic, k), k, rest[16:]
	}
	if !out.onlyNeighbours {
		if len(rest) < 4+8*len(out.evidence.levels) {
			return corrupt("cut short")
		}
		out.evidence.photos = binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		more := level{math.MaxUint32, math.MaxUint32}
		for i := range out.evidence.levels {
			l := level{binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])}
			if l.right > l.words || l.words > more.words || l.right > more.right {
				return corrupt(fmt.Sprintf("%d of %d words are right at level %d", l.right, l.words, i))
			}
			out.evidence.levels[i], more, rest = l, l, rest[8:]
		}
	}
	for i := range words {
		if len(rest) < 12 {
			return corrupt("cut short")
		}
		count, size := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[8:])
		louder := math.Float32frombits(binary.LittleEndian.Uint32(rest[4:]))
		if rest = rest[12:]; uint64(size) > uint64(len(rest)) {
			return corrupt("cut short")
		}
		name := string(rest[:size])
		if rest = rest[size:]; i > 0 && name <= last {
			return corrupt("words out of order")
		}
		if count < 1 || count > photos || !(louder >= 1/maxLouder && louder <= maxLouder) {
			return corrupt(fmt.Sprintf("a word of %d of %d photos, %g times as loud as the trend", count, photos, louder))
		}
		out.words[name], last = wordStats{int(count), louder}, name
	}
	if len(rest) != 0 {
		return corrupt(fmt.Sprintf("%d bytes too many", len(rest)))
	}
	*c = out
	return nil
}

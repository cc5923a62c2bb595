package rank

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"cpar"
	"cpar/internal/wire"
)

// The little-endian encoding of a Calibrated, with the symbols of its comment:
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
	calMagic   = "cpar.cal"
	calVersion = 4
	oldVersion = 3
	parameters = 4 + curveTerms + 2
	bonusAt    = 3 // index of the bonus among the parameters
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
	for _, w := range slices.Sorted(maps.Keys(c.words)) {
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
	out, err := decode(data)
	if err != nil {
		return fmt.Errorf("decoding a ranker: %w", err)
	}
	*c = *out
	return nil
}

func decode(data []byte) (*Calibrated, error) {
	r := wire.NewReader(data, cpar.ErrCorrupt)
	if string(r.Bytes(len(calMagic), "header")) != calMagic {
		r.Fail("wrong header")
	}
	version := r.U32("version")
	if r.Err() == nil && version != calVersion && version != oldVersion {
		return nil, fmt.Errorf("%w: %d", cpar.ErrVersion, version)
	}
	neighbours, photos, words := r.U32("neighbours"), r.U32("photos"), r.U32("words")
	if neighbours < 1 || neighbours > MostNeighbours || photos < 1 || photos > math.MaxInt32 {
		r.Fail("%d neighbours of %d photos", neighbours, photos)
	}
	out := &Calibrated{neighbours: int(neighbours), photos: int(photos), words: map[string]wordStats{}, onlyNeighbours: version == oldVersion}
	var values [parameters]float64
	for i := range values {
		if i == bonusAt && out.onlyNeighbours {
			continue
		}
		// Fits give parameters far below 1000, and this bound keeps every
		// weight finite.
		if values[i] = math.Float64frombits(r.U64("parameter")); !(math.Abs(values[i]) <= 1000) {
			r.Fail("parameter %d is %v", i, values[i])
		}
	}
	out.decay, out.loudnessExponent, out.guessShare, out.rareBonus = values[0], values[1], values[2], values[bonusAt]
	if out.decay < 0 || out.loudnessExponent < 0 || out.loudnessExponent > maxRarity || !(out.guessShare >= 0 && out.guessShare <= 1) || out.rareBonus < 0 {
		r.Fail("decay %v, rarity %v, own %v, bonus %v", out.decay, out.loudnessExponent, out.guessShare, out.rareBonus)
	}
	copy(out.curve[:], values[4:])
	copy(out.trend[:], values[4+curveTerms:])
	knots := r.U32("knots")
	if knots > maxKnots {
		r.Fail("%d knots", knots)
	}
	var before knot
	for i := uint32(0); i < knots && r.Err() == nil; i++ {
		k := knot{math.Float64frombits(r.U64("knot")), math.Float64frombits(r.U64("knot"))}
		if !(k.predicted > before.predicted && k.predicted < 1 && k.observed > before.observed && k.observed < 1) {
			r.Fail("calibration knots are not rising")
		}
		out.isotonic, before = append(out.isotonic, k), k
	}
	if !out.onlyNeighbours {
		out.evidence.photos = r.U32("calibration photos")
		more := level{math.MaxUint32, math.MaxUint32}
		for i := range out.evidence.levels {
			l := level{r.U32("words of a level"), r.U32("right words of a level")}
			if l.right > l.words || l.words > more.words || l.right > more.right {
				r.Fail("%d of %d words are right at level %d", l.right, l.words, i)
			}
			out.evidence.levels[i], more = l, l
		}
	}
	last := ""
	for i := uint32(0); i < words && r.Err() == nil; i++ {
		count, louder := r.U32("photos of a word"), math.Float32frombits(r.U32("loudness"))
		name := string(r.Bytes(r.Count(1, "bytes of a word"), "word"))
		if i > 0 && name <= last {
			r.Fail("words out of order")
		}
		if count < 1 || count > photos || !(louder >= 1/maxLouder && louder <= maxLouder) {
			r.Fail("a word of %d of %d photos, %g times as loud as the trend", count, photos, louder)
		}
		out.words[name], last = wordStats{int(count), louder}, name
	}
	return out, r.Close()
}

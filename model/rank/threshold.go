package rank

// levels is the number of steps into which probabilities are divided.
const levels = 50

// A level counts the words that were predicted for the calibration photos with
// at least the level's probability, and the right ones among them.
type level struct{ words, right uint32 }

// evidence holds the levels 1/levels … (levels−1)/levels, and the number of
// photos they were counted on.
type evidence struct {
	photos uint32
	levels [levels - 1]level
}

// count adds up predictions for a number of photos.
func (e *evidence) count(photos int, probability []float64, right []bool) {
	*e = evidence{photos: uint32(photos)}
	for i, p := range probability {
		for k := range e.levels {
			if p < levelOf(k) {
				break
			}
			e.levels[k].words++
			if right[i] {
				e.levels[k].right++
			}
		}
	}
}

func levelOf(k int) float64 { return float64(k+1) / levels }

const (
	// fewWords is the smallest number of words from which a level is judged.
	fewWords = 8
	// In Threshold's mean, the constant `careful` weighs as much as
	// doubtfulPhotos measured photos.
	doubtfulPhotos = 50
	careful        = 0.5
	// strictest is the measured threshold if no level qualifies.
	strictest = 0.8
)

// Threshold returns the lowest probability at which at least the given share of
// the words with that probability or more are right. The counts come from the
// collection's own photos, each annotated with the help of the others. Between
// two levels, the share is interpolated. A few photos could give any threshold
// by chance, so the result is shrunk towards 0.5. A ranker from version 3 of
// the encoding returns 0.5.
func (c *Calibrated) Threshold(right float64) float64 {
	if c.onlyNeighbours {
		return careful
	}
	least, above := strictest, 0.0 // above is the share of the last level that qualified
	for k := len(c.evidence.levels) - 1; k >= 0; k-- {
		l := c.evidence.levels[k]
		if l.words < fewWords {
			continue
		}
		share := float64(l.right) / float64(l.words)
		if share < right {
			if above > 0 {
				least -= (above - right) / (above - share) / levels
			}
			break
		}
		least, above = levelOf(k), share
	}
	n := float64(c.evidence.photos)
	return (n*least + doubtfulPhotos*careful) / (n + doubtfulPhotos)
}

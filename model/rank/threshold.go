package rank

// levels divides probabilities into steps of 1/levels.
const levels = 50

// A level counts the words of the calibration photos that have at least a
// probability.
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
	// fewWords is the number of words above a threshold that tells anything.
	fewWords = 8
	// doubtfulPhotos is the weight of the careful threshold, in photos.
	doubtfulPhotos = 50
	careful        = 0.5
	// strictest bounds what a few photos can demand.
	strictest = 0.8
)

// Threshold returns the least probability such that the share right of all
// words above it is right. It was counted on photos of the collection, each
// annotated by the others. Few photos could give any threshold by chance, so it
// is shrunk towards 0.5. A ranker of version 3 returns 0.5.
func (c *Calibrated) Threshold(right float64) float64 {
	if c.onlyNeighbours {
		return careful
	}
	least := strictest
	for k := len(c.evidence.levels) - 1; k >= 0; k-- {
		l := c.evidence.levels[k]
		if l.words < fewWords {
			continue
		}
		if float64(l.right) < right*float64(l.words) {
			break
		}
		least = levelOf(k)
	}
	n := float64(c.evidence.photos)
	return (n*least + doubtfulPhotos*careful) / (n + doubtfulPhotos)
}

package kdforest

import "fmt"

// Scorer computes the distance of records from one request.
type Scorer interface {
	// Score sets scores[i] to the score of records[i]. A smaller score means
	// nearer. The slices have equal length and belong to the caller, who reuses
	// them. A record's score must not depend on the other records of the call.
	Score(records []uint32, scores []int64)
}

// DefaultBatch is the number of records that Scan scores per call. This
// amortises the call, and the data of a batch fit in the cache.
const DefaultBatch = 256

// Scan scores records 0…n−1 and returns the nearest l (all if n < l), in
// ascending order of (score, record). Errors wrap ErrInput.
func Scan(s Scorer, n, l int) ([]Hit, error) {
	switch {
	case n < 0 || uint64(n) >= uint64(None):
		return nil, fmt.Errorf("%w: scanning %d records", ErrInput, n)
	case l < 1:
		return nil, fmt.Errorf("%w: scanning for the nearest %d", ErrInput, l)
	}
	batch := min(DefaultBatch, n)
	records, scores := make([]uint32, batch), make([]int64, batch)
	queue := NewQueue(l)
	for first := 0; first < n; first += batch {
		part := records[:min(batch, n-first)]
		for i := range part {
			part[i] = uint32(first + i)
		}
		s.Score(part, scores[:len(part)])
		for i, r := range part {
			queue.Push(Hit{Record: r, Score: scores[i]})
		}
	}
	return queue.Hits(), nil
}

package measure

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/search"
	"cpar/eval/distance"
	"cpar/internal/modq"
	"cpar/internal/parallel"
	"cpar/kdforest"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user"
)

func Levels(list []*vector.Vector) [][]uint16 {
	return Map(list, func(v *vector.Vector) []uint16 { return v.Levels })
}

func (s *Session) Keywords() [][]string { return Keywords(s.Records()) }

// AnnotatePlain ranks the keywords of the k nearest records of each request and
// returns the first `kept`. Row i of dis holds the distances of request i.
func AnnotatePlain(dis [][]float64, keywords [][]string, k, kept int) [][]string {
	return Map(dis, func(row []float64) []string {
		return KeywordStrings(rank.Keywords(NearestRecords(row, keywords, k), kept))
	})
}

// ascending returns the indices of the values in ascending order of value.
// Equal values are ordered by index.
func ascending[T cmp.Ordered](values []T) []int {
	order := make([]int, len(values))
	for j := range order {
		order[j] = j
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(values[a], values[b]), a-b) })
	return order
}

// ExactDistances returns Dis = D_L1 + D_KL (the paper's distance) on features
// that are not quantised.
func (s *Session) ExactDistances() ([][]float64, error) {
	records, err := s.Unrounded(s.Records())
	if err != nil {
		return nil, err
	}
	requests, err := s.Unrounded(s.Corpus.Test)
	if err != nil {
		return nil, err
	}
	return ExactDis(records, requests), nil
}

// ProjectedDistances returns Dis with the L1 part estimated from the
// projections z and z_s as ‖z − z_s‖²/(m̂·β/2).
func (s *Session) ProjectedDistances(ctx context.Context) ([][]float64, error) {
	records, err := s.Builder.Projector().ProjectAll(s.Builder.Vectors())
	if err != nil {
		return nil, err
	}
	requests, err := s.Builder.Projector().ProjectAll(s.Requests)
	if err != nil {
		return nil, err
	}
	unit := float64(len(requests[0])) * vector.Beta / 2
	out := make([][]float64, len(requests))
	return out, Each(ctx, len(s.Requests), func(i int) error {
		row := make([]float64, len(records))
		for j, rec := range s.Builder.Vectors() {
			row[j] = float64(distance.SquaredL2Int(requests[i], records[j]))/unit + distance.KL(rec.KL, s.Requests[i].KL)
		}
		out[i] = row
		return nil
	})
}

// StreamTime returns the median time in nanoseconds to read n bytes of the
// index, in the faster of two orders.
func (s *Session) StreamTime(n uint64) int64 {
	t := NewStream(s.Files)
	t.read(s.Cloud.Manifest.Bytes()/2, modq.Sum)
	var both [2][]int64
	for range 15 {
		t.ReadTwice(n, &both)
	}
	return min(Median(both[0]), Median(both[1]))
}

// ExactDis returns Dis = D_L1 + D_KL for every request (rows) and record
// (columns).
func ExactDis(train, test []Unquantized) [][]float64 {
	out := make([][]float64, len(test))
	// The logarithms of a request's histogram are computed once, because all
	// divergences from the request use them.
	logs := make([][]float64, len(test))
	entropy := make([]float64, len(train))
	for i, r := range train {
		for _, a := range r.KL {
			entropy[i] += a * math.Log(a)
		}
	}
	parallel.For(len(test), func(i int) {
		for _, c := range test[i].KL {
			logs[i] = append(logs[i], math.Log(c))
		}
		row := make([]float64, len(train))
		for j, r := range train {
			cross := 0.0
			for k, a := range r.KL {
				cross += a * logs[i][k]
			}
			row[j] = distance.L1(r.L1, test[i].L1) + entropy[j] - cross
		}
		out[i] = row
	})
	return out
}

// plainDistances returns exact distances on floats, which are neither quantised
// nor projected. The distance is D_L1 + D_KL, or squared L2 in profiles that
// use it.
func (s *Session) plainDistances(ctx context.Context) ([][]float64, error) {
	if len(s.Requests) == 0 || s.Requests[0].X == nil {
		return s.ExactDistances()
	}
	out := make([][]float64, len(s.Requests))
	records := Map(s.Builder.Vectors(), func(v *vector.Vector) []float64 { return ToFloat64s(v.X) })
	return out, Each(ctx, len(s.Requests), func(i int) error {
		x, row := ToFloat64s(s.Requests[i].X), make([]float64, len(records))
		for j, rec := range records {
			row[j] = distance.SquaredL2(rec, x)
		}
		out[i] = row
		return nil
	})
}

func (s *Session) PlainNearest(ctx context.Context, k int) ([][]rank.Neighbour, error) {
	distances, err := s.plainDistances(ctx)
	if err != nil {
		return nil, err
	}
	train := s.Keywords()
	out := make([][]rank.Neighbour, len(distances))
	for i, row := range distances {
		out[i] = NearestRecords(row, train, k)
		ToImageNumbers(out[i], s.Builder)
	}
	return out, nil
}

// NearestRecords returns the k records with the smallest distances. Equal
// distances are ordered by record.
func NearestRecords(dis []float64, keywords [][]string, k int) []rank.Neighbour {
	out := make([]rank.Neighbour, min(k, len(dis)))
	for i, j := range ascending(dis)[:len(out)] {
		out[i] = rank.Neighbour{Record: uint32(j), Dis: dis[j], Keywords: keywords[j]}
	}
	return out
}

// ToImageNumbers replaces each neighbour's record number by the number of its
// image.
func ToImageNumbers(near []rank.Neighbour, b *user.Builder) {
	for i := range near {
		near[i].Record = uint32(b.PhotoOf(near[i].Record))
	}
}

// NearestAll returns the result of the encrypted search for every test image.
// It calls `told` after each image.
func (s *Session) NearestAll(ctx context.Context, p cpar.Params, told func()) ([][]rank.Neighbour, error) {
	out := make([][]rank.Neighbour, len(s.Requests))
	return out, Each(ctx, len(s.Requests), func(i int) error {
		pending, q, err := s.Builder.RequestVector(s.Requests[i], p)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		reply, err := search.Annotate(s.Cloud, q)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		out[i], err = pending.Neighbours(reply)
		ToImageNumbers(out[i], s.Builder)
		told()
		return err
	})
}

const Replayed = 100

// MemoryBound returns the time `base` divided by the median time of replaying n
// requests (see replay), both in nanoseconds.
func (s *Session) MemoryBound(list []PreparedRequest, base int64, n int) (float64, error) {
	var ns []int64
	if err := WithoutGC(func() error {
		for i := range min(n, len(list)) {
			took, err := s.replay(list[i].Request)
			if err != nil {
				return err
			}
			ns = append(ns, took.Nanoseconds())
		}
		return nil
	}); err != nil {
		return 0, err
	}
	return RoundTo(float64(base)/float64(max(1, Median(ns))), 2), nil
}

func MatchRecords(reply *cpar.Reply) []uint32 {
	return Map(reply.Matches, func(m cpar.Match) uint32 { return m.Record })
}

// replay scores the records that a search visited, in memory order, as searches
// without pruning do. It measures the time for memory and arithmetic alone.
func (s *Session) replay(q *cpar.Request) (time.Duration, error) {
	var visited []uint32
	if _, err := search.AnnotateTraced(s.Cloud, q, func(v kdforest.Visit) { visited = append(visited, v.Record) }); err != nil {
		return 0, err
	}
	slices.Sort(visited)
	// Evict the visited records from the caches, because the search that was
	// traced left them there.
	NewStream(s.Files).read(64<<20, modq.Sum)
	space, err := score.NewSpace(s.Cloud, q)
	if err != nil {
		return 0, err
	}
	scores := make([]int64, len(visited))
	begun := time.Now()
	space.Score(visited, scores)
	return time.Since(begun), nil
}

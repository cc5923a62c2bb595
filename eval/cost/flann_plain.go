package cost

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/eval/distance"
	"cpar/eval/measure"
	"cpar/kdforest"
	"cpar/user"
)

const (
	searchBestBin    = "best-bin"
	searchByRank     = "by-rank"
	searchDepthFirst = "depth-first"
	searchScan       = "scan"

	splitsVectors = "vectors"
	splitsLevels  = "levels"
)

func flannCurve(space string) FLANNCurve {
	return FLANNCurve{Space: space, Library: LibraryFLANN, Search: searchBestBin, Splits: splitsVectors}
}

type flannRun struct {
	*FLANN
	peer     *driver
	progress user.Progress
}

func (m *flannRun) space(ctx context.Context, t *vectorTable) error {
	visits, err := m.visits()
	if err != nil {
		return err
	}
	t.setTruth(m.Neighbours)
	if err := m.flann(ctx, t, visits); err != nil {
		return err
	}
	request := &vectorSpace{vectorTable: t, flat: slices.Concat(t.records...)}
	ask := func(i int) { request.request = t.requests[i] }
	for place, library := range []string{LibraryLeaf, LibraryNode} {
		place := []kdforest.Place{kdforest.PlaceLeaf, kdforest.PlaceNode}[place]
		build := func(build int) (*kdforest.Forest, error) {
			// As in FLANN, a node splits at the mean of a dimension drawn uniformly
			// from the five with the largest variance over 101 records.
			f, planes, err := kdforest.Build(t.records, kdforest.BuildOptions{
				Trees: flannTrees, Top: 5, Sample: 101, Draw: kdforest.DrawEvenly, Split: kdforest.SplitMean,
				Place: place, Seed: [32]byte{'f', 'l', 'a', 'n', 'n', byte(build)},
			})
			request.planes = planes
			return f, err
		}
		c := FLANNCurve{Space: t.name, Library: library, Search: searchBestBin, Splits: splitsVectors}
		if err := m.plain(ctx, c, t, request, ask, build, kdforest.Options{Order: kdforest.BestBin, Prune: true}, visits); err != nil {
			return err
		}
	}
	begin := time.Now()
	for i := range t.requests {
		ask(i)
		if _, err := kdforest.Scan(request, m.Records, m.Neighbours); err != nil {
			return fmt.Errorf("scanning: %w", err)
		}
	}
	seconds := time.Since(begin).Seconds() / float64(m.Requests)
	m.row(FLANNCurve{Space: t.name, Library: LibraryNode, Search: searchScan, Splits: splitsVectors}, m.Records, float64(m.Records), 1, seconds)
	return nil
}

func (m *flannRun) flann(ctx context.Context, t *vectorTable, visits []int) error {
	sum := map[int]driverLine{}
	done, total := 0, m.Builds*len(visits)+1
	stage := "flann, " + t.name
	err := m.peer.run(ctx, t, flannArguments(m.Trees, m.Builds, append(slices.Clone(visits), peerScan)), func(l driverLine) {
		s := sum[l.Checks]
		s.Recall += l.Recall
		s.Seconds += l.Seconds
		s.Visited += l.Visited
		sum[l.Checks] = s
		done++
		m.progress.Report(stage, done, total)
	})
	if err != nil {
		return err
	}
	builds := float64(m.Builds)
	for _, v := range visits {
		m.row(flannCurve(t.name), v, sum[v].Visited/builds, sum[v].Recall/builds, sum[v].Seconds/builds)
	}
	scan := flannCurve(t.name)
	scan.Search = searchScan
	m.row(scan, m.Records, sum[peerScan].Visited, sum[peerScan].Recall, sum[peerScan].Seconds)
	return nil
}

// plain measures our forest, averaged over several builds. Function `ask` loads
// request i into the space.
func (m *flannRun) plain(ctx context.Context, c FLANNCurve, t *vectorTable, space kdforest.Space, ask func(i int), build func(int) (*kdforest.Forest, error), opt kdforest.Options, visits []int) error {
	type mean struct {
		visited int
		recall  float64
		spent   time.Duration
	}
	sums := make([]mean, len(visits))
	opt.L = m.Neighbours
	stage := fmt.Sprintf("%s, %s, %s", c.Library, c.Search, c.Space)
	for b := range m.Builds {
		f, err := build(b)
		if err != nil {
			return fmt.Errorf("building a forest over %s: %w: %w", c.Splits, cpar.ErrInput, err)
		}
		opt.Ballots = kdforest.NewBallots(f)
		for v := range visits {
			if err := ctx.Err(); err != nil {
				return err
			}
			opt.Visits = visits[v]
			found := make([][]uint32, len(t.requests))
			for i := range t.requests {
				begin := time.Now()
				ask(i)
				hits, stats, err := f.Search(space, opt)
				sums[v].spent += time.Since(begin)
				if err != nil {
					return fmt.Errorf("searching request %d: %w", i, err)
				}
				sums[v].visited += stats.Visited
				found[i] = hitRecords(hits)
			}
			sums[v].recall += measure.RecallAt10(found, t.truth)
			m.progress.Report(stage, b*len(visits)+v+1, m.Builds*len(visits))
		}
	}
	for v, s := range sums {
		asked := float64(m.Builds * m.Requests)
		m.row(c, visits[v], float64(s.visited)/asked, s.recall/float64(m.Builds), s.spent.Seconds()/asked)
	}
	return nil
}

// levels measures a plaintext forest whose planes split quantised features
// (levels), while records are compared by their projected vectors. The
// encrypted forest does both by default.
func (m *flannRun) levels(ctx context.Context, t *vectorTable, s *measure.Session) error {
	visits, err := m.visits()
	if err != nil {
		return err
	}
	rows, requests := measure.Levels(s.Builder.Vectors()), measure.Levels(s.Requests)
	space := &levelSpace{vectorSpace: vectorSpace{vectorTable: t, flat: slices.Concat(t.records...)}}
	ask := func(i int) { space.ask(t.requests[i], requests[i]) }
	build := func(build int) (*kdforest.Forest, error) {
		f, planes, err := kdforest.Build(rows, kdforest.BuildOptions{Trees: m.Trees, Seed: [32]byte{'l', byte(build)}})
		space.cuts = planes
		return f, err
	}
	for _, how := range []struct {
		search string
		order  kdforest.Order
	}{{searchByRank, kdforest.ByRank}, {searchDepthFirst, kdforest.DepthFirst}} {
		c := FLANNCurve{Space: t.name, Library: LibraryNode, Search: how.search, Splits: splitsLevels}
		if err := m.plain(ctx, c, t, space, ask, build, kdforest.Options{Order: how.order}, visits); err != nil {
			return err
		}
	}
	return nil
}

// encrypted measures the encrypted forest. It times only the server's part, on
// one core. Recall is relative to the server's scan.
func (m *flannRun) encrypted(ctx context.Context, space string, s *measure.Session) error {
	queries, err := s.Prepare(ctx, cpar.Params{Scheme: cpar.SchemeCPAR, L: uint16(m.Neighbours), Approx: 1000}, len(s.Requests))
	if err != nil {
		return err
	}
	type step struct {
		name   string
		params cpar.Params
		visits int
	}
	steps := []step{{searchScan, cpar.Params{Scheme: cpar.SchemeCAPIA, L: uint16(m.Neighbours), Approx: 1000}, m.Records}}
	for _, how := range []struct {
		name   string
		search cpar.Search
	}{{searchByRank, cpar.SearchByRank}, {searchDepthFirst, cpar.SearchDepthFirst}} {
		for _, tenths := range flannVisitShares {
			visits, err := kdforest.Visits(tenths, m.Records, m.Neighbours)
			if err != nil {
				return fmt.Errorf("searching ciphertexts: %w", err)
			}
			if last := steps[len(steps)-1]; last.name != how.name || last.visits != visits {
				steps = append(steps, step{how.name, cpar.Params{Scheme: cpar.SchemeCPAR, Search: how.search, L: uint16(m.Neighbours), Approx: uint16(tenths)}, visits})
			}
		}
	}
	var truth [][]uint32 // records that the scan finds
	for done, x := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, spent := make([][]uint32, len(queries)), time.Duration(0)
		for i, q := range queries {
			asked := *q.Request
			asked.Params = x.params
			if x.name == searchScan {
				asked.Order = nil
			}
			begin := time.Now()
			reply, err := search.Annotate(s.Cloud, &asked)
			spent += time.Since(begin)
			if err != nil {
				return fmt.Errorf("request %d: %w", i, err)
			}
			found[i] = measure.MatchRecords(reply)
		}
		if truth == nil {
			truth = found
		}
		c := FLANNCurve{Space: space, Library: LibraryEncrypted, Search: x.name, Splits: splitsLevels}
		m.row(c, x.visits, float64(x.visits), measure.RecallAt10(found, truth), spent.Seconds()/float64(len(queries)))
		m.progress.Report(c.Library+", "+x.name, done+1, len(steps))
	}
	return nil
}

// setTruth computes the nearest records by brute force in float64, which is
// more exact than either library.
func (t *vectorTable) setTruth(k int) {
	t.truth = make([][]uint32, len(t.requests))
	for i, request := range t.requests {
		queue := kdforest.NewQueue(k)
		for j, record := range t.records {
			bits := math.Float64bits(distance.SquaredL2(record, request)) // non-negative floats have the same order as their bits
			queue.Push(kdforest.Hit{Record: uint32(j), Score: int64(bits)})
		}
		t.truth[i] = hitRecords(queue.Hits())
	}
}

// A vectorSpace scores records by the bits of squared L2 in float32.
type vectorSpace struct {
	*vectorTable
	flat    []float32 // concatenated records
	request []float32
	planes  []kdforest.Plane[float32]
}

func (s *vectorSpace) Left(plane uint32) bool { return s.planes[plane].Left(s.request) }

func (s *vectorSpace) Score(records []uint32, scores []int64) {
	for i, r := range records {
		row := s.flat[int(r)*s.d:]
		scores[i] = int64(math.Float32bits(squaredL2(row[:s.d], s.request)))
	}
}

// Beyond uses the distance from a single plane, which is a valid lower bound.
func (s *vectorSpace) Beyond(plane uint32, worst int64) bool {
	return s.Distance(plane) > s.Reach(worst)
}

func (s *vectorSpace) Distance(plane uint32) float64 {
	p := &s.planes[plane]
	d := float64(s.request[p.Dim]) - float64(p.Value)
	return d * d
}

func (s *vectorSpace) Reach(worst int64) float64 {
	return float64(math.Float32frombits(uint32(worst)))
}

// squaredL2 sums in four lanes, as FLANN does, so that additions need not wait
// for each other. It takes eight elements at a time, to share one bounds check.
func squaredL2(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x, y := (*[8]float32)(a[i:]), (*[8]float32)(b[i:])
		d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
		d4, d5, d6, d7 := x[4]-y[4], x[5]-y[5], x[6]-y[6], x[7]-y[7]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
		s0 += d4 * d4
		s1 += d5 * d5
		s2 += d6 * d6
		s3 += d7 * d7
	}
	for ; i < len(a); i++ {
		d := a[i] - b[i]
		s0 += d * d
	}
	return s0 + s1 + (s2 + s3)
}

// A levelSpace compares projected vectors, but its planes split quantised
// features (levels). A plane therefore gives no bound on projected distances,
// so Beyond never prunes.
type levelSpace struct {
	vectorSpace
	levels []uint16
	cuts   []kdforest.Plane[uint16]
}

func (s *levelSpace) ask(request []float32, levels []uint16) { s.request, s.levels = request, levels }

func (s *levelSpace) Left(plane uint32) bool { return s.cuts[plane].Left(s.levels) }

func (s *levelSpace) Beyond(uint32, int64) bool { return false }

func (s *levelSpace) Fields() []kdforest.Field { return kdforest.FieldsOf(nil, s.cuts, s.levels) }

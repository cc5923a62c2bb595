package eval

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/search"
	"cpar/internal/indexdir"
	"cpar/internal/modq"
	"cpar/internal/parallel"
	"cpar/internal/wire"
	"cpar/kdforest"
	"cpar/user"
)

// approximations are the values of AP-X for which searches are measured, in tenths of a percent.
var approximations = []uint16{1000, 400, 200, 100, 50, 25}

// A configuration is a search to be measured.
type configuration struct {
	name string
	p    cpar.Params
}

// searches are all the searches that are measured: those of a forest, and that of an
// inverted file. They are asked of one index that holds both (user.Options.WithLists).
var searches = []cpar.Search{cpar.SearchDepthFirst, cpar.SearchByRank, cpar.SearchBestBin, cpar.SearchIVF}

// searching returns the parameters of a search: a forest is scheme cpar, an inverted file
// scheme ivf.
func searchParams(how cpar.Search, approx uint16, l int) cpar.Params {
	p := cpar.Params{Scheme: cpar.SchemeCPAR, Search: how, L: uint16(l), Approx: approx}
	if how == cpar.SearchIVF {
		p.Scheme = cpar.SchemeIVF
	}
	return p
}

// configurations returns capia first, then every search at every AP-X.
func searchConfigurations() []configuration {
	out := []configuration{{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}}}
	for _, how := range searches {
		for _, approx := range approximations {
			p := searchParams(how, approx, 10)
			out = append(out, configuration{configurationName(p), p})
		}
	}
	return out
}

// configurationName returns capia; or for Algorithm 1 cpar@10, by rank cpar-rank@10, for
// scheme ivf ivf@10.
func configurationName(p cpar.Params) string {
	if p.Scheme == cpar.SchemeCAPIA {
		return p.Scheme.String()
	}
	name := p.Scheme.String()
	if p.Search != p.Scheme.Searches()[0] {
		name += "-" + p.Search.String()
	}
	return name + "@" + approxName(p.Approx)
}

func approxName(tenths uint16) string {
	return strconv.FormatFloat(float64(tenths)/10, 'f', -1, 64)
}

// A preparedRequest is a request with what the owner must remember about it.
type preparedRequest struct {
	pending *user.Pending
	request       *cpar.Request
}

// prepare makes the first n requests for a search, on all cores.
func (s *Session) prepare(ctx context.Context, p cpar.Params, n int) ([]preparedRequest, error) {
	out, errs := make([]preparedRequest, n), make([]error, n)
	parallel.For(n, func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			out[i].pending, out[i].request, errs[i] = s.Builder.RequestVector(s.Requests[i], p)
		}
	})
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
	}
	return out, nil
}

// quietly calls f without garbage collection, which would run during measurements, on the
// same cores.
func withoutGC(f func() error) error {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	return f()
}

// timing is the cost of one search, by request.
type timing struct {
	ns      []int64
	visited []uint32
	bytes   []uint64
}

// timeSearches answers every request by every configuration, one at a time on one
// goroutine. Configurations take turns, each with a different request, so that a slow
// spell of the machine affects all of them and none finds in the cache what the previous
// one read for the same request. keep, if not nil, receives every reply.
func (s *Session) timeSearches(ctx context.Context, prepared [][]preparedRequest, progress func(done, total int), keep func(configuration, request int, reply *cpar.Reply)) ([]timing, error) {
	n, m := len(prepared[0]), len(prepared)
	out := make([]timing, m)
	for j := range out {
		out[j] = timing{make([]int64, n), make([]uint32, n), make([]uint64, n)}
	}
	err := withoutGC(func() error {
		for round := range n + 1 { // round 0 warms up
			if err := ctx.Err(); err != nil {
				return err
			}
			for j := range m {
				i := (round + j*max(1, n/m)) % n
				begun := time.Now()
				reply, err := search.Annotate(s.Cloud, prepared[j][i].request)
				took := time.Since(begun)
				if err != nil {
					return fmt.Errorf("request %d: %w", i, err)
				}
				out[j].ns[i], out[j].visited[i], out[j].bytes[i] = took.Nanoseconds(), reply.Visited, reply.Touched
				if keep != nil && round > 0 {
					keep(j, i, reply)
				}
			}
			if progress != nil {
				progress(round, n)
			}
			if round%32 == 31 {
				runtime.GC() // replies of this many rounds are small
			}
		}
		return nil
	})
	return out, err
}

// replay scores the records that a search visited, in the same order and the same
// batches, without a tree: it measures the time that memory and arithmetic take.
func (s *Session) replay(q *cpar.Request) (time.Duration, error) {
	var visited []uint32
	if _, err := search.AnnotateTraced(s.Cloud, q, func(v kdforest.Visit) { visited = append(visited, v.Record) }); err != nil {
		return 0, err
	}
	// The trace's visits are in the caches now.
	newStream(s.files).read(64<<20, modq.Sum)
	space, err := score.NewSpace(s.Cloud, q)
	if err != nil {
		return 0, err
	}
	batch := int(s.Cloud.Manifest.Trees)
	if q.Params.Search == cpar.SearchByRank {
		batch = kdforest.DefaultBatch
	}
	scores := make([]int64, batch)
	begun := time.Now()
	for first := 0; first < len(visited); first += batch {
		part := visited[first:min(first+batch, len(visited))]
		space.Score(part, scores[:len(part)])
	}
	return time.Since(begun), nil
}

// A stream repeatedly reads an index's vectors from end to end at memory speed.
type stream struct {
	parts [][]uint64
	part  int
	at    int
	sum   uint64
}

func newStream(files *indexdir.Index) *stream {
	out := new(stream)
	for i, seg := range files.Manifest().Segments {
		if seg.Kind == cpar.SegmentVectors {
			b := files.Segments()[i]
			out.parts = append(out.parts, wire.View(b[:len(b)&^7]))
		}
	}
	return out
}

// read reads n more bytes by sum, starting where it last stopped.
func (t *stream) read(n uint64, sum func([]uint64) uint64) time.Duration {
	begun := time.Now()
	for words := int(n / 8); words > 0; {
		part := t.parts[t.part][t.at:]
		part = part[:min(len(part), words)]
		t.sum += sum(part)
		words -= len(part)
		if t.at += len(part); t.at == len(t.parts[t.part]) {
			t.part, t.at = (t.part+1)%len(t.parts), 0
		}
	}
	return time.Since(begun)
}

// readTwice reads n more bytes in each of two orders: on some machines one is a fifth slower.
// Each read continues where the last one stopped, so that a small one is no more in the cache
// than a search would find it.
func (t *stream) readTwice(n uint64, ns *[2][]int64) {
	for i, sum := range []func([]uint64) uint64{modq.Sum, modq.SumFour} {
		ns[i] = append(ns[i], t.read(n, sum).Nanoseconds())
	}
}

package measure

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/internal/indexdir"
	"cpar/internal/modq"
	"cpar/internal/wire"
	"cpar/user"
)

// CostRequests is the number of requests from which a median time is taken.
const CostRequests = 31

// MedianMS returns the median duration of n calls of f in milliseconds, after
// one call that warms up.
func MedianMS(ctx context.Context, n int, f func(i int) error) (float64, error) {
	var ns []int64
	for i := range n + 1 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		begun := time.Now()
		if err := f(i); err != nil {
			return 0, err
		}
		if i > 0 {
			ns = append(ns, time.Since(begun).Nanoseconds())
		}
	}
	return RoundTo(Milliseconds(ns), 4), nil
}

// CountStage returns a function that reports one more completed step per call.
func CountStage(progress user.Progress, stage string, total int) func() {
	var done atomic.Int64
	return func() { progress.Report(stage, int(done.Add(1)), total) }
}

// SampleAt returns the index of sample k if n samples are evenly spaced in a
// list of `all` elements.
func SampleAt(k, n, all int) int { return (2*k + 1) * all / (2 * n) }

// Approximations lists the measured X of AP-X (X percent of the records
// visited), in tenths of a percent.
var Approximations = []uint16{1000, 400, 200, 100, 50, 25}

type configuration struct {
	Name string
	P    cpar.Params
}

// Searches lists all searches of a forest and an inverted file. One index built
// with user.Options.WithLists supports them all.
var Searches = []cpar.Search{cpar.SearchDepthFirst, cpar.SearchByRank, cpar.SearchBestBin, cpar.SearchIVF}

// SearchParams returns the parameters of a search. The scheme is ivf for a
// search of an inverted file, and cpar for a search of a forest.
func SearchParams(how cpar.Search, approx uint16, l int) cpar.Params {
	p := cpar.Params{Scheme: cpar.SchemeCPAR, Search: how, L: uint16(l), Approx: approx}
	if how == cpar.SearchIVF {
		p.Scheme = cpar.SchemeIVF
	}
	return p
}

// SearchConfigurations returns capia (a scan), followed by every search at
// every AP-X.
func SearchConfigurations() []configuration {
	out := []configuration{{"capia", cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}}}
	for _, how := range Searches {
		for _, approx := range Approximations {
			p := SearchParams(how, approx, 10)
			out = append(out, configuration{ConfigurationName(p), p})
		}
	}
	return out
}

// ConfigurationName returns a name such as capia, cpar@10 (Algorithm 1 at
// AP-10), cpar-rank@10 (search by rank) or ivf@10.
func ConfigurationName(p cpar.Params) string {
	if p.Scheme == cpar.SchemeCAPIA {
		return p.Scheme.String()
	}
	name := p.Scheme.String()
	if p.Search != p.Scheme.Searches()[0] {
		name += "-" + p.Search.String()
	}
	return name + "@" + ApproxName(p.Approx)
}

func ApproxName(tenths uint16) string {
	return strconv.FormatFloat(float64(tenths)/10, 'f', -1, 64)
}

// A PreparedRequest is a request with the owner's state for reading its reply.
type PreparedRequest struct {
	Pending *user.Pending
	Request *cpar.Request
}

func (s *Session) Prepare(ctx context.Context, p cpar.Params, n int) ([]PreparedRequest, error) {
	out := make([]PreparedRequest, n)
	return out, Each(ctx, n, func(i int) (err error) {
		if out[i].Pending, out[i].Request, err = s.Builder.RequestVector(s.Requests[i], p); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		return nil
	})
}

// WithoutGC calls f while the garbage collector is off, because it would
// compete with the measured code for cores.
func WithoutGC(f func() error) error {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	return f()
}

// A timing holds the costs of one configuration, with one element per request.
type timing struct {
	Ns      []int64
	Visited []uint32
	Bytes   []uint64
}

// TimeSearches answers every request in every configuration, one at a time.
// Configurations take turns with different requests. Therefore a slow period of
// the machine affects all configurations, and none benefits from data that
// another left in the cache. If `keep` is not nil, it gets every reply.
func (s *Session) TimeSearches(ctx context.Context, prepared [][]PreparedRequest, progress user.Progress, keep func(configuration, request int, reply *cpar.Reply)) ([]timing, error) {
	n, m := len(prepared[0]), len(prepared)
	out := make([]timing, m)
	for j := range out {
		out[j] = timing{make([]int64, n), make([]uint32, n), make([]uint64, n)}
	}
	err := WithoutGC(func() error {
		for round := range n + 1 { // round 0 warms up
			if err := ctx.Err(); err != nil {
				return err
			}
			for j := range m {
				i := (round + j*max(1, n/m)) % n
				begun := time.Now()
				reply, err := search.Annotate(s.Cloud, prepared[j][i].Request)
				took := time.Since(begun)
				if err != nil {
					return fmt.Errorf("request %d: %w", i, err)
				}
				out[j].Ns[i], out[j].Visited[i], out[j].Bytes[i] = took.Nanoseconds(), reply.Visited, reply.Touched
				if keep != nil && round > 0 {
					keep(j, i, reply)
				}
			}
			progress.Report("searches", round, n)
			if round%32 == 31 {
				runtime.GC() // outside the timed part, and enough because replies are small
			}
		}
		return nil
	})
	return out, err
}

// A stream reads all vectors of an index repeatedly, at memory speed.
type stream struct {
	parts [][]uint64
	part  int
	at    int
	sum   uint64
}

func NewStream(files *indexdir.Index) *stream {
	out := new(stream)
	for i, seg := range files.Manifest().Segments {
		if seg.Kind == cpar.SegmentVectors {
			b := files.Segments()[i]
			out.parts = append(out.parts, wire.View(b[:len(b)&^7]))
		}
	}
	return out
}

// read sums n bytes, starting where the last read stopped.
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

// ReadTwice reads n bytes with each of two functions that sum in different
// orders, because one order is up to a fifth slower on some machines. Each read
// continues where the last one stopped, so that the cache does not serve small
// reads.
func (t *stream) ReadTwice(n uint64, ns *[2][]int64) {
	for i, sum := range []func([]uint64) uint64{modq.Sum, modq.SumFour} {
		ns[i] = append(ns[i], t.read(n, sum).Nanoseconds())
	}
}

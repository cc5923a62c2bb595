package cost

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"cpar"
	"cpar/cloud/shard"
	"cpar/eval/measure"
	"cpar/internal/modq"
	"cpar/internal/parallel"
	"cpar/model/profile"
	"cpar/user"
)

// CapacityRecords holds the two numbers of records from which fixed costs and
// costs per record are computed. The larger index exceeds the last-level cache.
var CapacityRecords = [2]int{5_000, 25_000}

const capacityRequests = 9

// MeasureUnitCosts searches two indexes of synthetic photos on one core, with as
// many cells as an index of n.Records records. For profile "learned" it measures
// "network", whose vectors have the same form.
func MeasureUnitCosts(ctx context.Context, n Need, progress user.Progress) (UnitCosts, error) {
	p := n.Profile
	if p == profile.Learned {
		p = profile.Network
	}
	made := syntheticPhotos(growthBase)
	fit, err := profile.Fit(ctx, p, measure.FeaturesOf(made), measure.Keywords(made), profile.Options{Progress: progress})
	if err != nil {
		return UnitCosts{}, fmt.Errorf("fitting a profile to synthetic photos: %w", err)
	}
	return unitCosts(ctx, made, user.Options{Scheme: n.Scheme, Fitted: fit, Cells: n.cells(), Progress: progress}, CapacityRecords)
}

func unitCosts(ctx context.Context, made []user.Photo, opt user.Options, sizes [2]int) (UnitCosts, error) {
	var at [2]costs
	var n [2]float64
	for i, records := range sizes {
		c := &measure.Corpus{Train: repeatPhotos(made, records), Test: made[:capacityRequests]}
		measure := opaqueCosts
		if opt.Scheme.Scored() {
			measure = scoredCosts
		}
		var err error
		if at[i], err = measure(ctx, c, opt); err != nil {
			return UnitCosts{}, fmt.Errorf("%d records: %w", records, err)
		}
		n[i] = float64(records)
	}
	line := func(of func(costs) float64) LinearCost { return fitLine(n, [2]float64{of(at[0]), of(at[1])}) }
	out := UnitCosts{
		Measured: sizes,
		Index:    line(func(c costs) float64 { return c.index }), Held: line(func(c costs) float64 { return c.held }),
		Read: line(func(c costs) float64 { return c.read }),
		Kept: line(func(c costs) float64 { return c.kept }), Request: line(func(c costs) float64 { return c.request }),
		Reply: line(func(c costs) float64 { return c.reply }), Core: line(func(c costs) float64 { return c.core }), Owner: line(func(c costs) float64 { return c.owner }),
	}
	if opt.Scheme.Scored() { // the length of requests and replies is constant, and so is the owner's cost
		out.Owner = LinearCost{Fixed: at[1].owner}
	}
	return out, nil
}

type costs struct{ index, held, read, kept, request, reply, core, owner float64 }

func stored(m *cpar.Manifest, owner *user.Owner) (out costs) {
	out.index = float64(m.Bytes())
	for i, needed := range (shard.Range{Last: 1 << 30}).Needs(m) {
		if needed {
			out.held += float64(m.Segments[i].Bytes)
		}
	}
	for _, x := range owner.Needs(m) {
		out.kept += float64(x.Bytes)
	}
	out.kept += float64(measure.SegmentBytes(m, cpar.SegmentLedger, cpar.SegmentProfile))
	return out
}

func opaqueCosts(ctx context.Context, c *measure.Corpus, opt user.Options) (costs, error) {
	s, _, err := measure.OpenSealed(ctx, c.Train, opt)
	if err != nil {
		return costs{}, err
	}
	defer s.Close()
	out := stored(s.Manifest, s.Owner)
	requests := measure.VectorsOf(s.Owner, c, capacityRequests)
	if opt.Scheme == cpar.SchemeLocal {
		out.held = 0
		ms, err := localScanMS(ctx, s, requests)
		out.owner = ms / 1e3
		return out, err
	}
	out.read = float64(measure.SegmentBytes(s.Manifest, cpar.SegmentVectors))
	times, err := s.Time(ctx, requests, func(int) (time.Duration, error) { return 0, ctx.Err() })
	out.request, out.reply, out.core, out.owner = float64(times.Request), float64(times.Reply), times.Cloud/1e3, (times.Encrypt+times.Read)/1e3
	return out, err
}

// scoredCosts measures a scheme that computes scores, with its default bound on
// visits.
func scoredCosts(ctx context.Context, c *measure.Corpus, opt user.Options) (costs, error) {
	s, err := measure.OpenSession(ctx, c, opt)
	if err != nil {
		return costs{}, err
	}
	defer s.Close()
	m := s.Cloud.Manifest
	out := stored(m, s.Builder.Owner)
	list, err := s.Prepare(ctx, m.DefaultParams(), len(s.Requests))
	if err != nil {
		return costs{}, err
	}
	replies := make([]*cpar.Reply, len(list))
	times, err := s.TimeSearches(ctx, [][]measure.PreparedRequest{list}, nil, func(_, i int, reply *cpar.Reply) { replies[i] = reply })
	if err != nil {
		return costs{}, err
	}
	ms, err := measure.MedianMS(ctx, 2*len(list), func(i int) error {
		i %= len(list)
		if _, _, err := s.Builder.RequestVector(s.Requests[i], m.DefaultParams()); err != nil {
			return err
		}
		_, err := list[i].Pending.Neighbours(replies[i])
		return err
	})
	if err != nil {
		return costs{}, err
	}
	sent, received, err := measure.BytesOf(list[0].Request, replies[0])
	out.core, out.owner = float64(measure.Median(times[0].Ns))/1e9, ms/1e3
	out.request, out.reply, out.read = float64(sent), float64(received), measure.Mean(times[0].Bytes)
	return out, err
}

// ThisHost describes this machine. It assumes a connection of ten gigabits per
// second.
func ThisHost() Host {
	h := Host{Cores: runtime.NumCPU(), Memory: float64(measure.ProcField("/proc/meminfo", "MemTotal")) * 1024, Network: 10e9 / 8}
	words := make([]uint64, 1<<27)
	for i := range words {
		words[i] = uint64(i) // write, because untouched pages share one physical page
	}
	for range 5 { // keep the best of five rounds
		begun := time.Now()
		parallel.Ranges(len(words), runtime.NumCPU(), func(from, to int) { _ = modq.SumFour(words[from:to]) })
		h.Read = max(h.Read, 8*float64(len(words))/time.Since(begun).Seconds())
	}
	return h
}

package quality

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"cpar"
	"cpar/cloud/search"
	"cpar/encoder"
	"cpar/eval/measure"
	"cpar/user"
	"cpar/user/device"
)

// A ProfileCost is the cost of one profile and scheme. Times are medians in
// milliseconds on one core. A request asks for as many neighbours as the
// calibrated ranker uses.
type ProfileCost struct {
	Profile    string `json:"profile"`
	Scheme     string `json:"scheme"`
	Neighbours int    `json:"neighbours"`
	IndexBytes uint64 `json:"index_bytes"`
	// ProfileBytes is the size of the profile and ledger, which hardly grows
	// with the number of records.
	ProfileBytes uint64 `json:"profile_bytes"`
	Request      int    `json:"request_bytes"`
	Reply        int    `json:"reply_bytes"`
	// Cloud is the server's time to answer a request.
	Cloud float64 `json:"cloud_ms"`
	// Features is the time to extract features, and the embedding if the profile
	// needs one. The owner spends this time and those below.
	Features float64 `json:"features_ms"`
	// Project is the time to turn features into a vector.
	Project float64 `json:"project_ms"`
	// Encrypt is the time to encrypt the vector.
	Encrypt float64 `json:"request_ms"`
	// Read is the time to decrypt the reply and rank its keywords.
	Read float64 `json:"read_ms"`
}

func (c ProfileCost) owner() float64 {
	return measure.RoundTo(c.Features+c.Project+c.Encrypt+c.Read, 3)
}

type pricedIndex struct {
	ProfileCost
	index *device.Index
	p     cpar.Params
	cloud measure.InProcess
	// These slices hold nanoseconds, with one element per request.
	cloudTimes, features, project, encrypt, read []int64
}

// pricedOwner is the number of photos from which each median of the owner's
// times is taken.
const pricedOwner = 15

func measureProfileCosts(ctx context.Context, c *measure.Corpus, runs []*profileRun, network *encoder.Encoder, progress user.Progress) ([]ProfileCost, error) {
	perProfile := make([][]*pricedIndex, len(runs))
	for i, r := range runs {
		list, done, err := openPriced(ctx, c, r, network, progress)
		defer done()
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", r.name(), err)
		}
		perProfile[i] = list
	}
	// Consecutive searches use the same scheme with different profiles. Two
	// schemes of one profile may share an index, whose data the second of two
	// consecutive searches would find in the cache.
	var turns []*pricedIndex
	for s := range profileSchemes {
		for _, list := range perProfile {
			turns = append(turns, list[s])
		}
	}
	if err := timeClouds(ctx, c, turns, progress); err != nil {
		return nil, err
	}
	if err := onOneCore(func() error { return timeOwners(ctx, c, turns) }); err != nil {
		return nil, err
	}
	var out []ProfileCost
	for _, list := range perProfile {
		for _, x := range list {
			x.Cloud = measure.RoundTo(measure.Milliseconds(x.cloudTimes), 4)
			// Features do not depend on the scheme and are timed only for the
			// first.
			x.Features = measure.RoundTo(measure.Milliseconds(list[0].features), 3)
			x.Project, x.Encrypt, x.Read = measure.RoundTo(measure.Milliseconds(x.project), 4), measure.RoundTo(measure.Milliseconds(x.encrypt), 4), measure.RoundTo(measure.Milliseconds(x.read), 4)
			out = append(out, x.ProfileCost)
		}
	}
	return out, nil
}

// openPriced builds the indexes of one profile, which together support all
// profileSchemes. Function `done` removes the indexes, and must be called even
// after an error.
func openPriced(ctx context.Context, c *measure.Corpus, r *profileRun, network *encoder.Encoder, progress user.Progress) (list []*pricedIndex, done func(), err error) {
	var opened []func()
	done = func() {
		for _, f := range opened {
			f()
		}
	}
	l := r.owner.Ranker().Neighbours()
	add := func(scheme string, o *user.Owner, m *cpar.Manifest, p cpar.Params, cloud measure.InProcess) error {
		x := &pricedIndex{ProfileCost: ProfileCost{Profile: r.name(), Scheme: scheme, Neighbours: l, IndexBytes: m.Bytes()}, index: device.OpenedByHand(cloud, o, m), p: p, cloud: cloud}
		x.ProfileBytes = measure.SegmentBytes(m, cpar.SegmentLedger, cpar.SegmentProfile)
		list = append(list, x)
		if network == nil {
			return nil // synthetic embeddings were not computed from photos
		}
		return o.SetEncoder(network)
	}
	for _, asked := range [][]cpar.Params{
		{{Scheme: cpar.SchemeCAPIA, L: uint16(l), Approx: 1000}},
		{measure.SearchParams(cpar.SearchDepthFirst, 100, l), measure.SearchParams(cpar.SearchByRank, 100, l)},
		{measure.SearchParams(cpar.SearchIVF, 1000, l), measure.SearchParams(cpar.SearchIVF, 100, l)},
	} {
		scheme := asked[0].Scheme
		s, err := measure.OpenSession(ctx, c, user.Options{Scheme: scheme, Fitted: r.owner.Fitted(), Progress: progress})
		if err != nil {
			return nil, done, fmt.Errorf("scheme %v: %w", scheme, err)
		}
		opened = append(opened, s.Close)
		cloud := func(q *cpar.Request) (*cpar.Reply, error) { return search.Annotate(s.Cloud, q) }
		for _, p := range asked {
			if err := add(measure.ConfigurationName(p), s.Builder.Owner, s.Cloud.Manifest, p, cloud); err != nil {
				return nil, done, err
			}
		}
	}
	x, _, err := measure.OpenSealed(ctx, c.Train, user.Options{Scheme: cpar.SchemeSealed, Fitted: r.owner.Fitted(), Progress: progress})
	if err != nil {
		return nil, done, fmt.Errorf("scheme sealed: %w", err)
	}
	opened = append(opened, x.Close)
	return list, done, add("sealed", x.Owner, x.Manifest, x.Params(l), func(q *cpar.Request) (*cpar.Reply, error) {
		replies, err := x.Cloud.Annotate(ctx, 1, []*cpar.Request{q})
		if err != nil {
			return nil, err
		}
		return replies[0], nil
	})
}

// timeClouds sends each request to all indexes in turn, so that a slow period
// of the machine affects all of them.
func timeClouds(ctx context.Context, c *measure.Corpus, turns []*pricedIndex, progress user.Progress) error {
	n := min(measure.CostRequests, len(c.Test))
	told := measure.CountStage(progress, "searches", n+1)
	requests := make([][]*cpar.Request, len(turns))
	for j, x := range turns {
		for _, im := range c.Test[:n] {
			_, q, err := x.index.Request(im.Vectors, x.p)
			if err != nil {
				return fmt.Errorf("profile %s, scheme %s: %w", x.Profile, x.Scheme, err)
			}
			requests[j] = append(requests[j], q)
		}
	}
	return measure.WithoutGC(func() error {
		for round := range n + 1 { // the first round warms up
			for j, x := range turns {
				if err := ctx.Err(); err != nil {
					return err
				}
				begun := time.Now()
				if _, err := x.cloud(requests[j][round%n]); err != nil {
					return fmt.Errorf("profile %s, scheme %s: %w", x.Profile, x.Scheme, err)
				}
				if round > 0 {
					x.cloudTimes = append(x.cloudTimes, time.Since(begun).Nanoseconds())
				}
			}
			told()
		}
		return nil
	})
}

// timeOwners measures the owner's times and the sizes of messages. As in
// timeClouds, indexes take turns.
func timeOwners(ctx context.Context, c *measure.Corpus, turns []*pricedIndex) error {
	return measure.WithoutGC(func() error {
		for round := range pricedOwner + 1 { // the first round warms up
			for _, x := range turns {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := x.ask(ctx, c, round); err != nil {
					return fmt.Errorf("profile %s, scheme %s: %w", x.Profile, x.Scheme, err)
				}
			}
			runtime.GC() // decoded photos are large
		}
		return nil
	})
}

// ask annotates one photo end to end. It records the owner's times, except in
// round 0.
func (x *pricedIndex) ask(ctx context.Context, c *measure.Corpus, round int) error {
	i := round % len(c.Test)
	photo := device.Extracted(c.TestName(i), c.Test[i].Vectors)
	fromFile := x.Scheme == profileSchemes[0] && i < len(c.TestItems)
	if fromFile {
		photo = device.File(c.TestItems[i].Path)
	}
	a, err := measure.AnnotatePhoto(ctx, x.index, photo, x.p, measure.StandardKeywords)
	if err != nil {
		return err
	}
	x.Request, x.Reply = a.Sent, a.Received
	if round == 0 {
		return nil
	}
	for _, part := range []struct {
		to   *[]int64
		took time.Duration
	}{{&x.project, a.Took.Vector}, {&x.encrypt, a.Took.Request}, {&x.read, a.Took.Read}} {
		*part.to = append(*part.to, part.took.Nanoseconds())
	}
	if fromFile {
		x.features = append(x.features, a.Took.Features.Nanoseconds())
	}
	return nil
}

func onOneCore(f func() error) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return f()
}

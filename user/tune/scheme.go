package tune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/internal/humanfmt"
	"cpar/kdforest"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

// A Choice is the scheme and search that suit a collection, with the reason.
type Choice struct {
	Scheme string `json:"scheme"`
	Search string `json:"search,omitempty"`
	// Photos is the number of photos in the measured searches, which use one core.
	Photos   int        `json:"photos"`
	Measured []Measured `json:"measured"`
	Reason   string     `json:"reason"`
}

// Measured holds the cost and recall of one kind of search. The search runs on
// plaintext with the integers, order and kernels of the cloud.
type Measured struct {
	Scheme string  `json:"scheme"`
	Search string  `json:"search"`
	MS     float64 `json:"ms"`
	// Recall is the fraction of the scan's ten nearest neighbours that this
	// search finds while visiting 10 % of the records (AP-10, Section IV-A).
	Recall float64 `json:"recall_at_10"`
}

const (
	// chooseFrom is the maximum number of photos measured. For more photos, a
	// scan's time is extrapolated linearly.
	chooseFrom = 20000
	// fastEnough is the time below which Choose prefers a scan. A scan is exact
	// and reveals less, and users would not notice a faster search.
	fastEnough = 5 * time.Millisecond
	// worthIt is the minimum speed-up over a scan that justifies another search.
	worthIt     = 2
	findsEnough = 0.8 // minimum recall of a search other than a scan
	chooseAsked = 60  // number of requests measured
	// neighbours is the number of neighbours counted by recall, without the
	// requested record.
	neighbours = rank.PaperNeighbours
)

// Choose measures schemes and prepares an index of the best scheme for the
// collection: the faster of cpar and ivf if a scan is slow and that scheme is
// much faster and accurate, and otherwise capia, which scans. It chooses
// user.DefaultScheme for profiles of short vectors, which these schemes do not
// hide, and for keys that do not allow all three.
func Choose(ctx context.Context, key *user.Key, images []user.Photo, opt user.Options) (*user.Builder, *Choice, error) {
	kind := opt.Profile
	if opt.Fitted != nil {
		kind = opt.Fitted.Profile.Kind()
	}
	allowed := key.Policy().Allows(cpar.SchemeCPAR) && key.Policy().Allows(cpar.SchemeIVF) && key.Policy().Allows(cpar.SchemeCAPIA)
	if kind != profile.Paper || !allowed {
		opt.Scheme = user.DefaultScheme
		reason := fmt.Sprintf("vectors of profile %v are too short for schemes cpar, ivf and capia to hide, and short enough for %v to be fast", kind, opt.Scheme)
		if kind == profile.Paper {
			reason = "the key does not allow schemes cpar, ivf and capia, which show the cloud the distances"
		}
		b, err := user.Setup(ctx, key, images, opt)
		return b, &Choice{Scheme: opt.Scheme.String(), Photos: len(images), Measured: []Measured{}, Reason: reason}, err
	}
	both := opt
	both.Scheme, both.WithLists = cpar.SchemeCPAR, true
	b, err := user.Setup(ctx, key, images[:min(len(images), chooseFrom)], both)
	if err != nil {
		return nil, nil, err
	}
	c, err := measure(ctx, b, min(len(images), chooseFrom), opt.Progress)
	if err != nil {
		return nil, nil, fmt.Errorf("choosing a scheme: %w", err)
	}
	c.decide(len(images))
	if len(images) <= chooseFrom {
		opt.Fitted = b.Fitted() // b was fitted to all images
	}
	b, err = user.Setup(ctx, key, images, c.apply(opt))
	return b, c, err
}

func (c *Choice) apply(opt user.Options) user.Options {
	opt.Scheme, _ = cpar.ParseScheme(c.Scheme)
	if opt.Scheme == cpar.SchemeCPAR {
		opt.Lists = 0 // Lists applies only to ivf
	}
	return opt
}

// decide chooses a scheme for n photos, of which c.Photos were measured.
func (c *Choice) decide(n int) {
	scan := c.Measured[0]
	of := fmt.Sprintf("of %d photos", n)
	if n > c.Photos {
		of = fmt.Sprintf("of %d of the %d photos", c.Photos, n)
	}
	c.Scheme = cpar.SchemeCAPIA.String()
	if ms := scan.MS * float64(n) / float64(c.Photos); ms <= float64(fastEnough.Milliseconds()) {
		c.Reason = fmt.Sprintf("a scan %s takes %.1f ms here on one core: it is exact, shows the cloud less than a forest or lists, and is fast enough", of, ms)
		return
	}
	best := slices.MinFunc(c.Measured[1:], func(a, b Measured) int {
		return cmp.Or(cmp.Compare(b.enough(), a.enough()), cmp.Compare(a.MS, b.MS))
	})
	switch {
	case best.enough() == 0:
		c.Reason = fmt.Sprintf("a scan %s takes %.1f ms here; at AP-10 neither forest nor lists find %.0f %% of its ten nearest", of, scan.MS, 100*findsEnough)
	case best.MS*worthIt > scan.MS:
		c.Reason = fmt.Sprintf("a scan %s takes %.1f ms here, and search %s takes %.1f: too little is gained to show the cloud more", of, scan.MS, best.Search, best.MS)
	default:
		c.Scheme, c.Search = best.Scheme, best.Search
		c.Reason = fmt.Sprintf("a scan %s takes %.1f ms here; at AP-10 search %s takes %.1f ms and finds %.0f %% of its ten nearest", of, scan.MS, best.Search, best.MS, 100*best.Recall)
	}
}

// enough returns 1 for sufficient recall, otherwise 0.
func (m Measured) enough() int {
	if m.Recall >= findsEnough {
		return 1
	}
	return 0
}

// measure runs the default search of each scheme on plaintext, with some of the
// n records as requests.
func measure(ctx context.Context, b *user.Builder, n int, progress user.Progress) (*Choice, error) {
	twin, err := b.Twin()
	if err != nil {
		return nil, err
	}
	l := uint16(neighbours + 1)
	searches := []cpar.Params{
		{Scheme: cpar.SchemeCAPIA, L: l, Approx: 1000},
		{Scheme: cpar.SchemeCPAR, L: l, Approx: 100},
		{Scheme: cpar.SchemeIVF, L: l, Approx: 100, Search: cpar.SearchIVF},
	}
	c := &Choice{Photos: n, Measured: []Measured{
		{Scheme: cpar.SchemeCAPIA.String(), Search: "scan"},
		{Scheme: cpar.SchemeCPAR.String(), Search: cpar.SearchDepthFirst.String()},
		{Scheme: cpar.SchemeIVF.String(), Search: cpar.SearchIVF.String()},
	}}
	times := make([][]float64, len(searches))
	asked := min(n, chooseAsked)
	for i := range asked {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		progress.Report("measure", i, asked)
		record := i * n / asked
		var truth []kdforest.Hit
		for j, p := range searches {
			pending, _, err := b.RequestVector(b.Vectors()[record], p)
			if err != nil {
				return nil, err
			}
			begun := time.Now()
			hits, err := twin.Search(pending, nil)
			if err != nil {
				return nil, err
			}
			times[j] = append(times[j], time.Since(begun).Seconds()*1e3)
			if j == 0 {
				truth = hits
			}
			c.Measured[j].Recall += share(hits, truth, uint32(record)) / float64(asked)
		}
	}
	for j := range c.Measured {
		c.Measured[j].MS = humanfmt.Median(times[j])
	}
	progress.Report("measure", asked, asked)
	return c, nil
}

func share(hits, truth []kdforest.Hit, itself uint32) float64 {
	found, all := 0, 0
	for _, t := range truth {
		if t.Record == itself {
			continue
		}
		all++
		if slices.ContainsFunc(hits, func(h kdforest.Hit) bool { return h.Record == t.Record }) {
			found++
		}
	}
	if all == 0 {
		return 1
	}
	return float64(found) / float64(all)
}

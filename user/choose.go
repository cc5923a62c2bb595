package user

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/internal/modq"
	"cpar/ivf"
	"cpar/kdforest"
)

// A Choice says which scheme and structure a collection is best served by, and
// why.
type Choice struct {
	Scheme string `json:"scheme"`
	Search string `json:"search,omitempty"`
	// Measured on so many photos, on one core of this machine.
	Photos   int        `json:"photos"`
	Measured []Measured `json:"measured"`
	Reason   string     `json:"reason"`
}

// Measured is one search of the collection in the clear: the same integers,
// read in the same order as the cloud reads them, by the same kernels.
type Measured struct {
	Search string  `json:"search"`
	MS     float64 `json:"ms"`
	// Recall is the share of the scan's ten nearest that AP-10 finds.
	Recall float64 `json:"recall_at_10"`
}

const (
	// chooseFrom bounds the photos that Choose measures: a scan of more is
	// slower in proportion, and what the others find grows slowly.
	chooseFrom = 20000
	// fastEnough: a scan that takes no longer is exact and shows less, and
	// nobody would notice that something else is faster.
	fastEnough = 5 * time.Millisecond
	// worthIt is how many times faster than a scan a search must be, and
	// findsEnough how much it must find.
	worthIt     = 2
	findsEnough = 0.8
	chooseAsked = 60
)

// Choose sets up an index of the scheme and structure that measure best for the
// collection: a scan where a scan is fast enough, else the faster of forest
// and inverted file. opt.Scheme, Trees and Lists are chosen, the rest is kept. For
// profiles of short vectors it is scheme sealed, since cpar and capia do not hide
// those (SECURITY.md).
func Choose(ctx context.Context, key *Key, images []Image, opt Options) (*Builder, *Choice, error) {
	if opt.Profile != ProfilePaper {
		opt.Scheme = cpar.SchemeSealed
		b, err := Setup(ctx, key, images, opt)
		return b, &Choice{Scheme: opt.Scheme.String(), Photos: len(images), Measured: []Measured{},
			Reason: fmt.Sprintf("vectors of profile %v are too short for schemes cpar and capia to hide, and short enough for sealed to be fast", opt.Profile)}, err
	}
	opt.Scheme = cpar.SchemeCPAR
	trees, lists := opt.Trees, opt.Lists
	if trees == None {
		opt.Trees = 0
	}
	if lists == None {
		opt.Lists = 0
	}
	// Fitted once, to all images: what is learnt from keywords takes longest.
	filled, err := opt.withDefaults()
	if err == nil {
		opt.fitted, err = fitFront(ctx, images, filled)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("choosing a scheme: %w", err)
	}
	b, err := Setup(ctx, key, images[:min(len(images), chooseFrom)], opt)
	if err != nil {
		return nil, nil, err
	}
	c, err := b.measure(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("choosing a scheme: %w", err)
	}
	opt.Trees, opt.Lists = b.opt.Trees, b.opt.Lists
	switch c.decide(len(images)); {
	case c.Scheme == cpar.SchemeCAPIA.String():
		opt.Scheme, opt.Trees, opt.Lists = cpar.SchemeCAPIA, None, None
	case c.Search == cpar.SearchIVF.String():
		opt.Trees = None
	default:
		opt.Lists = None
	}
	if len(images) > chooseFrom {
		b, err = Setup(ctx, key, images, opt)
	} else {
		err = b.restructure(ctx, key, opt)
	}
	return b, c, err
}

// decide chooses for a collection of n, of which c.Photos were measured.
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
		c.Scheme, c.Search = cpar.SchemeCPAR.String(), best.Search
		c.Reason = fmt.Sprintf("a scan %s takes %.1f ms here; at AP-10 search %s takes %.1f ms and finds %.0f %% of its ten nearest", of, scan.MS, best.Search, best.MS, 100*best.Recall)
	}
}

// enough is 1 for a search that finds enough.
func (m Measured) enough() int {
	if m.Recall >= findsEnough {
		return 1
	}
	return 0
}

// measure asks for some of the records themselves by every search.
func (b *Builder) measure(ctx context.Context) (*Choice, error) {
	twin, err := b.Twin()
	if err != nil {
		return nil, err
	}
	n := len(b.vectors)
	visits, err := kdforest.Visits(int(b.DefaultParams().Approx), n, kept+1)
	if err != nil {
		return nil, err
	}
	c := &Choice{Photos: n, Measured: []Measured{{Search: "scan"}, {Search: cpar.SearchByRank.String()}, {Search: cpar.SearchIVF.String()}}}
	times := make([][]float64, len(c.Measured))
	ballots := kdforest.NewBallots(b.forest)
	rows, centroids := asWords(twin.records), asWords(twin.centroids)
	asked := min(n, chooseAsked)
	for i := range asked {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b.opt.Progress.Report("measure", i, asked)
		record := i * n / asked
		space := &wordSpace{plainSpace: plainSpace{twin: twin, point: b.point(b.vectors[record])}, rows: rows}
		plain, err := b.requestVector(b.vectors[record], 1<<10)
		if err != nil {
			return nil, err
		}
		space.request = asWords(plain)
		lists := *space
		lists.rows = centroids
		var truth []kdforest.Hit
		for j, search := range []func() ([]kdforest.Hit, error){
			func() ([]kdforest.Hit, error) { return space.scan(n, kept+1), nil },
			func() ([]kdforest.Hit, error) {
				hits, _, err := b.forest.Search(space, kdforest.Options{Visits: visits, L: kept + 1, Order: kdforest.ByRank, Ballots: ballots})
				return hits, err
			},
			func() ([]kdforest.Hit, error) {
				hits, _, err := b.lists.Search(&lists, space, ivf.Options{Visits: visits, L: kept + 1})
				return hits, err
			},
		} {
			begun := time.Now()
			hits, err := search()
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
		slices.Sort(times[j])
		c.Measured[j].MS = times[j][len(times[j])/2]
	}
	b.opt.Progress.Report("measure", asked, asked)
	return c, nil
}

// kept is how many neighbours count, besides the record that is asked for.
const kept = 10

// share is how much of the truth was found, without the record itself.
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

func asWords(x []int64) []uint64 {
	words := make([]uint64, len(x))
	modq.FromSigned(words, x)
	return words
}

// wordSpace scores as the cloud does: by inner products of words.
type wordSpace struct {
	plainSpace
	rows, request, dots []uint64
}

func (s *wordSpace) room(n int) []uint64 {
	s.dots = slices.Grow(s.dots[:0], n)[:n]
	return s.dots
}

func (s *wordSpace) Score(records []uint32, scores []int64) {
	dots := s.room(len(records))
	modq.Gather(dots, s.rows, records, s.request)
	modq.ToSigned(scores, dots)
}

func (s *wordSpace) Run(first uint32, scores []int64) {
	dots := s.room(len(scores))
	modq.Rows(dots, s.rows[int(first)*len(s.request):], s.request)
	modq.ToSigned(scores, dots)
}

func (s *wordSpace) scan(n, l int) []kdforest.Hit {
	queue := kdforest.NewQueue(l)
	scores := make([]int64, min(n, kdforest.DefaultBatch))
	for first := 0; first < n; first += len(scores) {
		part := scores[:min(len(scores), n-first)]
		s.Run(uint32(first), part)
		for i, score := range part {
			queue.Push(kdforest.Hit{Record: uint32(first + i), Score: score})
		}
	}
	return queue.Hits()
}

// restructure gives a builder that has not encrypted yet another structure,
// without fitting and projecting again.
func (b *Builder) restructure(ctx context.Context, key *Key, opt Options) error {
	opt, err := opt.withDefaults()
	if err != nil {
		return err
	}
	// Records go back to the order of images first: the order of lists would
	// tell of lists that are not there.
	order := make([]uint32, len(b.images))
	for record, image := range b.images {
		order[image] = uint32(record)
	}
	b.reorder(order)
	p := b.profile
	p.scheme, p.trees, p.lists, p.planes, p.centres, p.split = opt.Scheme, 0, 0, nil, nil, splitter{}
	b.opt, b.forest, b.lists, b.centroids = opt, nil, nil, nil
	if b.Owner, err = newOwner(key, p); err != nil {
		return err
	}
	return b.structure(ctx, key, p)
}

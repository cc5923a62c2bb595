package attack

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"math"
	"os"
	"slices"

	"cpar"
	"cpar/eval/estimate"
	"cpar/eval/measure"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/photo/dataset"
	"cpar/user"
)

type Options struct {
	// PCA is the factor by which PCA divides the dimension of Haar features.
	// The value 0 selects the paper's factor, 32.
	PCA      int
	Progress user.Progress
	More     []*Target
}

const (
	maxLinked     = 200
	planeRequests = 20
	// maxOPE bounds the number of records in the attack on order ciphertexts,
	// which do not depend on it.
	maxOPE = 800
	// Attacks with fewer than manyDraws known records or requests average over
	// several choices of them.
	manyDraws = 100
	picks     = 500
)

// These slices list the numbers that attacks try: in order, known vectors,
// known photos, records with known keywords, known records per unknown of a
// request, and requests observed without prior knowledge.
var (
	knownVectors  = []int{3, 10, 30}
	knownPhotos   = []int{3, 10, 30, 100, 300, 1000}
	keywordsKnown = []int{100, 1000}
	solvingShares = []float64{0.75, 1.05, 1.5, 3}
	seenMatching  = []int{30, 50, 100}
)

// Run attacks an index of c.Train with requests for c.Test, in schemes cpar,
// ivf, capia, sealed and the schemes of o.More.
func Run(ctx context.Context, c *Collection, o Options) ([]Row, error) {
	if len(c.Train) < 2 || len(c.Test) < 4 {
		return nil, fmt.Errorf("attacking: %w: %d images to index and %d to request; 2 and 4 are needed", cpar.ErrInput, len(c.Train), len(c.Test))
	}
	r := &run{c: c, o: o}
	stages := []struct {
		name string
		do   func(context.Context) error
	}{
		{"index", r.index}, {"knowledge", r.learn}, {"changed copies", r.change}, {"schemes", r.schemes},
		{"planes", r.planes}, {"order", r.order}, {"key", r.key}, {"lies", r.tamper}, {"offers", r.offers}, {"traffic", r.traffic}, {"album", r.blobs}, {"clusters", r.cells}, {"words", r.words}, {"other profiles", r.profiles},
	}
	defer func() {
		for _, b := range []*built{r.b, r.sealed} {
			if b != nil {
				b.Close()
			}
		}
	}()
	for i, s := range stages {
		o.Progress.Report("attacks: "+s.name, i, len(stages))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.do(ctx); err != nil {
			return nil, fmt.Errorf("attacking: %s: %w", s.name, err)
		}
	}
	return r.rows, nil
}

type run struct {
	c      *Collection
	o      Options
	b      *built
	sealed *built
	rows   []Row

	targets []*Target
	// `train` and `test` hold the owner's vectors. `trainPhotos` and
	// `testPhotos` hold vectors from an attacker's own pipeline.
	train, test             []*projected
	trainPhotos, testPhotos []*vector.Vector
	changed                 []*feature.Vectors
	// compared[j] holds the distances of the photos in Train from the
	// attacker's jth photo.
	compared [][]float64
}

func (r *run) add(rows ...Row) {
	for _, row := range rows {
		row.Profile = cmp.Or(row.Profile, profile.Paper.String())
		r.rows = append(r.rows, row)
	}
}

func (r *run) record(rows []Row, err error) error {
	r.add(rows...)
	return err
}

func (r *run) index(ctx context.Context) (err error) {
	if r.b, err = build(ctx, r.c.Train, user.Options{Scheme: cpar.SchemeCPAR, WithLists: true, PCA: r.o.PCA}); err != nil {
		return err
	}
	for _, s := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeIVF, cpar.SchemeCAPIA} {
		t, err := r.b.target(s)
		if err != nil {
			return err
		}
		r.targets = append(r.targets, t)
	}
	if r.sealed, err = build(ctx, r.c.Train, user.Options{Scheme: cpar.SchemeSealed, PCA: r.o.PCA}); err != nil {
		return fmt.Errorf("scheme sealed: %w", err)
	}
	t, err := r.sealed.sealedTarget()
	if err != nil {
		return fmt.Errorf("scheme sealed: %w", err)
	}
	r.targets = append(append(r.targets, t), r.o.More...)
	return nil
}

func (r *run) learn(ctx context.Context) error {
	requests, err := vectorsOf(ctx, r.b.builder.Vector, measure.FeaturesOf(r.c.Test))
	if err != nil {
		return err
	}
	if r.test, err = r.project(requests); err != nil {
		return err
	}
	byRecord, err := r.project(r.b.builder.Vectors())
	if err != nil {
		return err
	}
	r.train = make([]*projected, len(byRecord))
	for i, p := range byRecord {
		r.train[r.b.trainIndex[i]] = p
	}
	// The attacker fits the pipeline to the photos of requests.
	own, err := pipeline(ctx, r.c.Test, user.Options{PCA: r.o.PCA})
	if err != nil {
		return err
	}
	if r.testPhotos, err = vectorsOf(ctx, own, measure.FeaturesOf(r.c.Test)); err != nil {
		return err
	}
	if r.trainPhotos, err = vectorsOf(ctx, own, measure.FeaturesOf(r.c.Train)); err != nil {
		return err
	}
	theirs, err := pipeline(ctx, r.c.Train, user.Options{PCA: r.o.PCA})
	if err != nil {
		return err
	}
	collection, err := vectorsOf(ctx, theirs, measure.FeaturesOf(r.c.Train))
	if err != nil {
		return err
	}
	r.compared = distances(collection, pick(collection, sample(len(collection), picks, 2)))
	return nil
}

func (r *run) project(list []*vector.Vector) ([]*projected, error) {
	z, err := r.b.builder.Projector().ProjectAll(list)
	if err != nil {
		return nil, err
	}
	out := make([]*projected, len(list))
	for i, v := range list {
		out[i] = &projected{z[i], v.KL}
	}
	return out, nil
}

func (r *run) linked() int { return min(2*maxLinked, len(r.c.Test)/2*2) }

func (r *run) change(ctx context.Context) error {
	if r.c.Changed == nil {
		return nil
	}
	r.changed = make([]*feature.Vectors, r.linked()/2)
	return measure.Each(ctx, len(r.changed), func(i int) (err error) {
		r.changed[i], err = r.c.Changed(i)
		return err
	})
}

type Row struct {
	Attack string `json:"attack"`
	Scheme string `json:"scheme"`
	// Profile is the index's profile, or "none" for an album. Results of earlier
	// versions have "" for profile "paper".
	Profile string `json:"profile,omitempty"`
	// Known is the amount of prior knowledge or observations, in a unit that
	// depends on the attack.
	Known int `json:"known"`
	// Success is the share of Trials in which the attacker was right, with the
	// 95 % confidence interval from Low to High.
	Success float64 `json:"success"`
	// Baseline is the share for random guesses.
	Baseline float64 `json:"baseline"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Trials   int     `json:"trials"`
	// Refused lists the errors with which owners refused the server's offers.
	Refused string `json:"refused,omitempty"`
	// Estimate is the cost of an attack that was not run. Such a row has no
	// trials.
	Estimate *estimate.Estimate `json:"estimate,omitempty"`
}

func proportion(attack, scheme string, known, right, trials int, baseline float64) Row {
	low, high := Wilson(right, trials)
	return Row{Attack: attack, Scheme: scheme, Known: known, Success: float64(right) / float64(max(trials, 1)),
		Baseline: baseline, Low: low, High: high, Trials: trials}
}

func count(n int, right func(i int) bool) (sum int) {
	for i := range n {
		if right(i) {
			sum++
		}
	}
	return sum
}

// Wilson returns the 95 % score interval of a proportion (E. B. Wilson, JASA
// 22, 1927). It assumes independent trials. Trials on one index are slightly
// dependent.
func Wilson(right, trials int) (low, high float64) {
	if trials == 0 {
		return 0, 1
	}
	const z = 1.959963984540054 // 97.5 % quantile of the standard normal distribution
	n, p := float64(trials), float64(right)/float64(trials)
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high = centre-half, centre+half
	if right == 0 {
		low = 0
	}
	if right == trials {
		high = 1
	}
	return low, high
}

type Attacks struct {
	Records  int   `json:"records"`
	Requests int   `json:"requests"`
	Rows     []Row `json:"rows"`
}

// MeasureAttacks attacks an index of the real images with requests for the test
// images. It includes profile "network" if all images have embeddings.
func MeasureAttacks(ctx context.Context, c *measure.Corpus, progress user.Progress) (*Attacks, error) {
	collection := &Collection{Train: c.Train, Test: c.Test}
	if len(c.TestItems) == len(c.Test) {
		collection.Changed = func(i int) (*feature.Vectors, error) { return changedCopy(c.TestItems[i]) }
	}
	if all := slices.Concat(c.TrainItems, c.TestItems); len(all) == len(c.Train)+len(c.Test) {
		collection.Files = measure.Map(all, func(p dataset.Photo) string { return p.Path })
	}
	rows, err := Run(ctx, collection, Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	return &Attacks{Records: len(c.Train), Requests: len(c.Test), Rows: rows}, nil
}

// changedCopy crops a fiftieth of each edge and recompresses at quality 75.
func changedCopy(it dataset.Photo) (*feature.Vectors, error) {
	data, err := os.ReadFile(it.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", it.Name, cpar.ErrInput, err)
	}
	b := img.Bounds()
	dx, dy := b.Dx()/50, b.Dy()/50
	out := image.NewRGBA(image.Rect(0, 0, b.Dx()-2*dx, b.Dy()-2*dy))
	draw.Draw(out, out.Bounds(), img, b.Min.Add(image.Pt(dx, dy)), draw.Src)
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, out, &jpeg.Options{Quality: 75}); err != nil {
		return nil, fmt.Errorf("%s: %w", it.Name, err)
	}
	return feature.NewExtractor().Photo(buf.Bytes(), feature.Options{})
}

func (a *Attacks) Tables() []measure.Table {
	t := measure.Table{Name: "attacks", Title: fmt.Sprintf("What an attacking cloud learns, %d records, %d requests: success and its 95 %% interval, in percent", a.Records, a.Requests),
		Columns: []string{"attack", "scheme", "profile", "known", "success %", "from", "to", "guessing %", "trials", "refused as"}}
	estimates := measure.Table{Name: "attacks-lattice", Title: "Lattice attacks on the key, estimated and not run",
		Columns: []string{"attack", "scheme", "profile", "known", "records", "dimension", "block size", "root Hermite factor", "core-SVP bits"}}
	for _, r := range a.Rows {
		profile := cmp.Or(r.Profile, profile.Paper.String())
		if e := r.Estimate; e != nil {
			estimates.Rows = append(estimates.Rows, []string{r.Attack, r.Scheme, profile, measure.FormatInt(r.Known), measure.FormatInt(e.Samples), measure.FormatInt(e.Dimension), measure.FormatInt(e.BlockSize), measure.FormatDecimal(e.Delta, 5), measure.FormatDecimal(e.Bits, 0)})
			continue
		}
		t.Rows = append(t.Rows, []string{r.Attack, r.Scheme, profile, measure.FormatInt(r.Known), measure.FormatDecimal(100*r.Success, 1), measure.FormatDecimal(100*r.Low, 1), measure.FormatDecimal(100*r.High, 1), measure.FormatDecimal(100*r.Baseline, 2), measure.FormatInt(r.Trials), r.Refused})
	}
	return []measure.Table{t, estimates}
}

package user

import (
	"context"
	"crypto/aes"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/lattice"
	"cpar/user/combined"
	"cpar/user/dataset"
	"cpar/user/feature"
	"cpar/user/internal/keyword"
	"cpar/user/internal/sealed"
	"cpar/user/picture"
	"cpar/user/rank"
)

// TuneOptions say what Tune tries. The zero value will do.
type TuneOptions struct {
	// PCA is that of profile `paper`; 0 means 32.
	PCA int
	// Items are photos that the owner's milliseconds are measured on; a few are
	// read. Without any these are not measured.
	Items []dataset.Item
	// Network computed the images' embeddings. Its cost is measured with it.
	Network  *Network
	Progress Progress
}

// A Tuning is what each profile and ranker would give on a collection.
type Tuning struct {
	Photos int `json:"photos"` // of the collection
	// Rows are by profile and ranker, in the order of their constants.
	Rows []Tuned `json:"rows"`
	// LeftOut are profiles that the collection is no use for, and why.
	LeftOut     []LeftOut `json:"left_out"`
	Recommended struct {
		Profile ProfileKind `json:"profile"`
		Ranker  RankerKind  `json:"ranker"`
	} `json:"recommended"`
	Reason string `json:"reason"`

	pca int
	// fits are those of the profiles tried, with calibrated rankers.
	fits map[ProfileKind]*fitted
}

// Tuned is one profile with one ranker.
type Tuned struct {
	Profile    ProfileKind `json:"profile"`
	Ranker     RankerKind  `json:"ranker"`
	Neighbours int         `json:"neighbours"`
	Dim        int         `json:"dim"` // Owner.Dimensions
	Validation
	// OwnerMS is what one photo costs the owner before it is encrypted: decoding,
	// features, embedding and projection, on one core; 0 if not measured.
	OwnerMS float64 `json:"owner_ms,omitempty"`
	// IndexBytes are those of an index of the collection.
	IndexBytes IndexBytes `json:"index_bytes"`
	// CloudMS is what the cloud of scheme capia takes to scan the collection for one
	// photo, on one core of this machine; cpar takes less, sealed more.
	CloudMS float64 `json:"cloud_ms"`
}

// IndexBytes are the sizes of an index by scheme.
type IndexBytes struct {
	CAPIA  uint64 `json:"capia"`
	Sealed uint64 `json:"sealed"`
}

// LeftOut is a profile that was not tried to the end.
type LeftOut struct {
	Profile ProfileKind `json:"profile"`
	Reason  string      `json:"reason"`
}

const (
	// tuneMost photos are asked at most, fewer where there are so many that asking
	// reads more than tuneReads records.
	tuneMost, tuneLeast, tuneReads = 4000, 500, 100_000_000
	// timedPhotos are read again to be timed.
	timedPhotos = 7
)

// Tune finds out by cross-validation on a collection alone what each profile and
// ranker would give, measures what they cost, and recommends one. Profile
// `network` is tried where the images have embeddings. It needs no key and writes
// nothing. A collection without keywords, or of one image, is refused (ErrInput).
func Tune(ctx context.Context, images []Image, opt TuneOptions) (*Tuning, error) {
	keywords := make([][]string, len(images))
	some := false
	for i, im := range images {
		keywords[i] = im.Keywords
		some = some || len(im.Keywords) > 0
	}
	switch {
	case len(images) < 2:
		return nil, hint.Add(fmt.Errorf("tuning: %w: a collection of one photo, or none", cpar.ErrInput), "profiles are compared by how well photos find each other's keywords")
	case !some:
		return nil, hint.Add(fmt.Errorf("tuning: %w: none of the photos has a keyword", cpar.ErrInput), "profiles are compared by how well photos find each other's keywords")
	}
	dict, err := keyword.NewDictionary(keywords)
	if err != nil {
		return nil, fmt.Errorf("tuning: %w", err)
	}
	t := &Tuning{Photos: len(images), LeftOut: []LeftOut{}, pca: opt.PCA, fits: map[ProfileKind]*fitted{}}
	photos := readSome(opt.Items)
	extract, err := timePhotos(ctx, photos, feature.Options{})
	if err != nil {
		return nil, fmt.Errorf("tuning: %w", err)
	}
	for _, kind := range profileKinds {
		if kind == ProfileNetwork && images[0].Vectors.Embedding == nil {
			continue
		}
		r := &trial{kind: kind, images: images, keywords: keywords, dict: dict, photos: photos, extract: extract, opt: opt}
		rows, err := r.run(ctx)
		switch {
		case err == nil:
			t.Rows, t.fits[kind] = append(t.Rows, rows...), r.fit
		case ctx.Err() != nil || kind == ProfilePaper || !errors.Is(err, cpar.ErrInput):
			return nil, fmt.Errorf("tuning: profile %v: %w", kind, err)
		default:
			t.LeftOut = append(t.LeftOut, LeftOut{kind, err.Error()})
		}
	}
	t.decide()
	return t, nil
}

// Apply is opt with the profile and ranker that are recommended. Setup and Choose
// then take the profile as Tune has fitted it, to the same images.
func (t *Tuning) Apply(opt Options) Options {
	opt.Profile, opt.Ranker, opt.PCA = t.Recommended.Profile, t.Recommended.Ranker, t.pca
	fit := t.fits[opt.Profile]
	opt.fitted = &fitted{front: fit.front, ranker: fit.ranker, validation: &t.row(opt.Profile, opt.Ranker).Validation}
	return opt
}

func (t *Tuning) row(p ProfileKind, r RankerKind) *Tuned {
	for i := range t.Rows {
		if t.Rows[i].Profile == p && t.Rows[i].Ranker == r {
			return &t.Rows[i]
		}
	}
	return nil
}

// A trial is one profile being tried.
type trial struct {
	kind     ProfileKind
	images   []Image
	keywords [][]string
	dict     *keyword.Dictionary
	photos   [][]byte
	extract  float64 // timePhotos without a network
	opt      TuneOptions
	fit      *fitted
	// coder makes z, as the owner does for every photo.
	coder coder
}

func (r *trial) progress(stage string, done, total int) {
	r.opt.Progress.Report(r.kind.String()+": "+stage, done, total)
}

func (r *trial) run(ctx context.Context) ([]Tuned, error) {
	if err := r.fitAndAsk(ctx); err != nil {
		return nil, err
	}
	shape := r.fit.front.shape()
	row := Tuned{Profile: r.kind, Dim: shape.levels}
	var err error
	if row.OwnerMS, err = r.timeOwner(ctx); err != nil {
		return nil, err
	}
	if row.CloudMS, err = timeScan(ctx, len(r.images), shape.plain); err != nil {
		return nil, err
	}
	var rows []Tuned
	for i, ranker := range []RankerKind{RankerPaper, RankerCalibrated} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.progress("rankers", i, 2)
		v, err := validate(r.fit.samples, r.fit.words, ranker, calibrateKeep)
		if err != nil {
			return nil, err
		}
		row.Ranker, row.Validation, row.Neighbours = ranker, *v, kept
		use := *r.fit
		if ranker == RankerCalibrated {
			row.Neighbours = use.ranker.Neighbours()
		} else {
			use.ranker = nil
		}
		if row.IndexBytes, err = r.indexBytes(&use); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	r.progress("rankers", 2, 2)
	return rows, nil
}

// fitAndAsk fits the profile, asks some of the photos for their nearest others and
// calibrates a ranker.
func (r *trial) fitAndAsk(ctx context.Context) (err error) {
	asked := min(tuneMost, max(tuneLeast, tuneReads/len(r.images)))
	opt := Options{Scheme: cpar.SchemeCAPIA, Profile: r.kind, PCA: r.opt.PCA, Ranker: RankerPaper, asked: asked, Progress: r.progress}
	if r.kind != ProfilePaper {
		if opt, err = opt.withDefaults(); err != nil {
			return err
		}
		r.fit, err = fitEmbedded(ctx, r.images, opt)
		if err == nil {
			r.coder = roundCoder{r.fit.front.shape().plain.JL}
		}
		return err
	}
	// Distances of this profile need an index: of a key that is forgotten.
	b, err := Setup(ctx, NewKey(), r.images, opt)
	if err != nil {
		return err
	}
	r.coder = b.coder
	r.fit = &fitted{front: b.profile.front, words: b.keywords}
	if r.fit.samples, err = b.samples(ctx, asked); err != nil {
		return err
	}
	r.fit.ranker, _, err = rank.Calibrate(r.fit.samples, r.fit.words, calibrateKeep, 0)
	return err
}

// readSome reads a few photos, spread over the collection; those that cannot be
// read are passed over.
func readSome(items []dataset.Item) (photos [][]byte) {
	n := min(len(items), timedPhotos)
	for i := range n {
		if b, err := picture.ReadFile(items[i*len(items)/n].Path); err == nil {
			photos = append(photos, b)
		}
	}
	return photos
}

// timePhotos is the median of the milliseconds that extracting a photo takes, 0
// without photos. Each counts with the better of two runs: what else the machine
// does is no cost of a photo.
func timePhotos(ctx context.Context, photos [][]byte, how feature.Options) (float64, error) {
	e := feature.NewExtractor()
	var times []float64
	for _, photo := range photos {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		var err error
		ms := better(func() { _, err = e.Photo(photo, how) })
		if err == nil { // a build names and leaves out other photos, too
			times = append(times, ms)
		}
	}
	return median(times), nil
}

// timeOwner adds to that of extracting a photo what the profile makes of it.
func (r *trial) timeOwner(ctx context.Context) (float64, error) {
	extract := r.extract
	if r.kind == ProfileNetwork {
		extract = 0
		if r.opt.Network != nil {
			var err error
			if extract, err = timePhotos(ctx, r.photos, feature.Options{Network: r.opt.Network}); err != nil {
				return 0, err
			}
		}
	}
	if extract == 0 {
		return 0, nil
	}
	var times []float64
	for _, im := range r.images[:min(len(r.images), timedPhotos)] {
		var err error
		times = append(times, better(func() {
			v, e := r.fit.front.vector(im.Vectors)
			if e == nil {
				_, e = r.coder.embed(v)
			}
			err = e
		}))
		if err != nil {
			return 0, err
		}
	}
	return rounded(extract+median(times), 3), nil
}

// better is the milliseconds of the faster of two runs.
func better(work func()) float64 {
	best := math.Inf(1)
	for range 2 {
		begun := time.Now()
		work()
		best = min(best, time.Since(begun).Seconds()*1e3)
	}
	return best
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return rounded(x[len(x)/2], 4)
}

// timeScan is the median of the milliseconds that a scan of n records takes with
// the cloud's kernels. What the words are makes no difference. Of more than
// chooseFrom records some are scanned: it is a matter of memory read.
func timeScan(ctx context.Context, n int, plain combined.Params) (float64, error) {
	budget, err := combined.ForShape(plain)
	if err != nil {
		return 0, err
	}
	some := min(n, chooseFrom)
	space := &wordSpace{rows: make([]uint64, some*budget.Dim()), request: make([]uint64, budget.Dim())}
	for i := range space.rows { // memory that was never written is not read either
		space.rows[i] = uint64(i)
	}
	var times []float64
	for range timedPhotos {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		times = append(times, better(func() { space.scan(some, kept) })*float64(n)/float64(some))
	}
	return median(times), nil
}

// indexBytes are the sizes of the index that Encrypt would write.
func (r *trial) indexBytes(fit *fitted) (size IndexBytes, err error) {
	if size.CAPIA, err = r.bytesOf(fit, cpar.SchemeCAPIA); err == nil {
		size.Sealed, err = r.bytesOf(fit, cpar.SchemeSealed)
	}
	return size, err
}

func (r *trial) bytesOf(fit *fitted, scheme cpar.Scheme) (uint64, error) {
	n := len(r.images)
	p := &profile{scheme: scheme, records: uint32(n), dict: r.dict}
	p.use(fit)
	var vectors int
	if scheme == cpar.SchemeSealed {
		if err := p.startExact(0); err != nil {
			return 0, err
		}
		q := p.exact.params
		params, err := q.AppendBinary(nil)
		if err != nil {
			return 0, err
		}
		none, err := sealed.NewHints(q, p.id)
		if err != nil {
			return 0, err
		}
		perGroup := lattice.SeedSize + len(lattice.AppendCount(nil, 0)) + lattice.PackedSize(lattice.N, q.HintBits())
		vectors = q.Groups(n)*(q.GroupSize()+perGroup) + len(none.AppendBinary(nil)) + gcmBytes + len(params)
	} else {
		budget, err := combined.ForShape(fit.front.shape().plain)
		if err != nil {
			return 0, err
		}
		vectors = 8 * budget.Dim() * n
	}
	plain, err := p.appendBinary(nil)
	if err != nil {
		return 0, err
	}
	return uint64(vectors + n*keyword.SealedSize + len(plain) + gcmBytes), nil
}

// gcmBytes is how much longer AES-256-GCM makes a segment: nonce and tag.
const gcmBytes = 12 + aes.BlockSize

package user

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/seed"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/model/wordvector"
	"cpar/user/internal/aead"
	"cpar/user/internal/aspe"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
)

const (
	maxCalibrationPhotos = 2000
	// CalibrateKeep is the number of keywords per photo during calibration.
	CalibrateKeep = 5
)

// Setup prepares an index of an annotated collection for Builder.Encrypt:
// profile, ranker, search structure, dictionary and id.
//
// Record i is photo Builder.PhotoOf(i). The order of records is random, because the
// order of photos would tell the server which photos were taken in sequence.
//
// Setup keeps the vectors until Encrypt, but not the features.
func Setup(ctx context.Context, key *Key, images []Photo, opt Options) (*Builder, error) {
	b, err := setup(ctx, key, images, opt)
	if err != nil {
		return nil, fmt.Errorf("setting up an index: %w", err)
	}
	return b, nil
}

func setup(ctx context.Context, key *Key, images []Photo, opt Options) (*Builder, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := key.Check(opt.Scheme); err != nil {
		return nil, err
	}
	if len(images) == 0 || len(images) > cpar.MaxRecords {
		return nil, fmt.Errorf("%w: %d images; 1 to %d are possible", cpar.ErrInput, len(images), cpar.MaxRecords)
	}
	if err := checkKeywords(images); err != nil {
		return nil, err
	}
	fit, err := fit(ctx, images, opt)
	if err != nil {
		return nil, err
	}
	plain, err := vectors(ctx, fit.Profile, images, opt.Progress)
	if err != nil {
		return nil, err
	}
	c := index.NewCollection(plain, Keywords(images))
	l := &ledger{name: opt.Name, choices: choices{people: opt.IncludePeople, vocabulary: opt.Vocabulary}, scheme: opt.Scheme, records: len(images), generation: 1, begun: 1}
	if l.profile, err = fit.Profile.ForCollection(plain); err != nil {
		return nil, err
	}
	drawn := drawIndexSecret(key, c, opt)
	copy(l.id[:], drawn[:])
	l.origin = l.id
	order := make([]uint32, len(images))
	for i, from := range seed.New(drawn.Derive("order")).Perm(len(order)) {
		order[i] = uint32(from)
	}
	c.Reorder(order)
	if err := l.begin(c.Keywords()); err != nil {
		return nil, err
	}
	x, err := l.index(key, opt.testOnlyRand)
	if err != nil {
		return nil, err
	}
	opt.Progress.Report("project", 0, len(images))
	if err := c.Project(x.Projector); err != nil {
		return nil, err
	}
	opt.Progress.Report("project", len(images), len(images))
	b := &Builder{collection: c, opt: opt, Validation: fit.Validation}
	if l.ranker, err = b.calibrate(ctx, fit); err != nil {
		return nil, fmt.Errorf("calibrating its ranker: %w", err)
	}
	if b.twinBuilder, err = schemes[opt.Scheme].setUp(ctx, x, c, opt); err != nil {
		return nil, err
	}
	if err := l.fitVectors(ctx, b.twinBuilder); err != nil {
		return nil, err
	}
	b.Owner = newOwner(l, x, b.twinBuilder)
	identify := identify(key, l.origin)
	for _, im := range images {
		b.identities = append(b.identities, identify(im.Content))
	}
	return b, nil
}

// IndexBytes returns the number of bytes that Encrypt would write, without
// trees and lists.
func IndexBytes(s cpar.Scheme, p profile.Profile, ranker rank.Ranker, keywords [][]string) (uint64, error) {
	n := len(keywords)
	vectors, err := schemes[s].bytes(p.Layout(), n)
	if err != nil {
		return 0, err
	}
	l := &ledger{scheme: s, records: n, fitted: fitted{profile: p, ranker: ranker}}
	if l.keywords, err = keyword.NewDictionary(keywords); err != nil {
		return 0, err
	}
	if s.Grows() && p.Kind() != profile.Paper {
		l.rows = wordvector.NewSums(p.Layout().JL)
		l.search = &wordvector.Vectors{Sums: wordvector.NewSums(l.rows.Dim())}
		// Most numbers of a sum take two bytes.
		l.search.Sums.Add(slices.Repeat([]int16{100}, l.rows.Dim()), l.keywords.Words())
	}
	plain, err := l.appendBinary(nil, nothing{})
	if err != nil {
		return 0, err
	}
	fitted, err := appendFitted(nil, l.id, l.fitted)
	if err != nil {
		return 0, err
	}
	size := vectors + uint64(len(plain)+len(fitted)+2*aead.Overhead)
	if !s.Grows() {
		return size + uint64(n*keyword.Size), nil
	}
	table, err := keyword.TableBytes(l.keywords, keywords)
	return size + table + identityBytes(n), err
}

// The type nothing is a scheme whose part of the ledger is empty, because
// entry.bytes already counts that part.
type nothing struct{ scheme }

func (nothing) AppendBinary(b []byte) ([]byte, error) { return b, nil }

func fit(ctx context.Context, images []Photo, opt Options) (*profile.Fitted, error) {
	if opt.Fitted != nil {
		return opt.Fitted, nil
	}
	fit, err := profile.Fit(ctx, opt.Profile, Features(images), Keywords(images), profile.Options{PCA: opt.PCA, Dim: opt.Dim, Text: opt.Text, Progress: opt.Progress})
	if err != nil {
		return nil, err
	}
	if len(fit.Samples) > 0 {
		fit.Validation, err = rank.CrossValidate(ctx, fit.Samples, Keywords(images), opt.Profile.Ranker(opt.Ranker), CalibrateKeep)
		fit.Samples = nil // no longer needed, and large
	}
	return fit, err
}

func vectors(ctx context.Context, p profile.Profile, images []Photo, progress Progress) ([]*vector.Vector, error) {
	out := make([]*vector.Vector, 0, len(images))
	const batch = 1024 // photos projected at once
	for first := 0; first < len(images); first += batch {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		progress.Report("vectors", first, len(images))
		v, err := p.Vectors(Features(images[first:min(first+batch, len(images))]))
		if err != nil {
			return nil, fmt.Errorf("of the images from %d: %w", first, err)
		}
		out = append(out, v...)
	}
	progress.Report("vectors", len(images), len(images))
	return out, nil
}

// calibrate returns the requested ranker. It calibrates on each photo's
// nearest neighbours, which are unbiased unless the profile was learnt from
// keywords. A learnt profile brings its own ranker.
func (b *Builder) calibrate(ctx context.Context, fit *profile.Fitted) (rank.Ranker, error) {
	if fit.Profile.Kind().Ranker(b.opt.Ranker) != rank.KindCalibrated {
		return rank.PaperRanker{}, nil
	}
	if fit.Ranker != nil {
		return fit.Ranker, nil
	}
	c := b.collection
	samples, err := aspe.Samples(ctx, fit.Profile.Layout(), c, maxCalibrationPhotos, b.opt.Progress)
	if err != nil {
		return nil, err
	}
	ranker, _, err := rank.Calibrate(ctx, samples, c.Keywords(), CalibrateKeep, 0)
	if err == nil && rank.Folds(samples) > 1 {
		b.Validation, err = rank.CrossValidate(ctx, samples, c.Keywords(), rank.KindCalibrated, CalibrateKeep)
	}
	return ranker, err
}

// drawIndexSecret derives the secret for the id and the order of records. The
// secret also depends on the collection and the options, in case random numbers
// repeat. Two indexes with the same id would encrypt vectors twice under one key.
func drawIndexSecret(key *Key, c *index.Collection, opt Options) seed.Secret {
	d := index.NewDigest()
	index.Add(d, []byte(fmt.Sprint(opt.Scheme, opt.Profile, opt.Ranker, opt.PCA, opt.Trees, opt.Lists, opt.Split, opt.Place, opt.Order, opt.Block, opt.Careful)))
	if opt.Cells > 0 {
		index.Add(d, []int64{int64(opt.Cells)})
	}
	for _, r := range c.Records {
		index.Add(d, r.Vector.Levels)
		index.Add(d, r.Vector.KL)
		index.Add(d, r.Vector.X)
		for _, w := range r.Keywords {
			index.Add(d, []byte(w))
		}
	}
	source := seed.NewSource(key.secret.Derive("fresh"), opt.testOnlyRand)
	return source.Fresh("index", 0, d.Sum())
}

func (u *updater) permutation(n int) []int {
	return seed.New(u.owner.index.Fresh("order", u.owner.Digest())).Perm(n)
}

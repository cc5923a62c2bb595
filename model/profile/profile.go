// Package profile turns the features of a photo into the integers that the
// schemes encrypt.
//
//	Fit        features and keywords of a collection ─▶ Fitted: a Profile, perhaps a ranker
//	Profile    features ─▶ vector.Vector
//	Projector  vector.Vector ─▶ z, small integers, which every scheme encrypts
//
// A profile is fitted once, on the collection, and stays with the owner,
// because it was learnt from private photos and, for `learned` and `network`,
// from their keywords. This package must not import user/ or cloud/.
package profile

import (
	"cmp"
	"context"
	"fmt"

	"cpar"
	"cpar/internal/enum"
	"cpar/internal/progress"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
)

type Kind uint8

const (
	// Paper compares seven features of colour and texture by L1 and KL.
	Paper Kind = 0
	// Learned compares a projection of these features and patches, learnt from
	// the collection's keywords, by squared L2.
	Learned Kind = 1
	// Network compares a projection of an image network's embedding, learnt in
	// the same way, by squared L2.
	Network Kind = 2
)

var kinds = enum.Table[Kind]{What: "profile", Names: []string{"paper", "learned", "network"}}

// Kinds lists the profiles in the order of their constants.
func Kinds() []Kind { return kinds.All() }

func (k Kind) String() string { return kinds.String(k) }

func (k Kind) Valid() bool { return kinds.Has(k) }

func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

func ParseKind(name string) (Kind, error) { return kinds.Parse(name, cpar.ErrInput) }

// Ranker returns asked, or the profile's kind of ranker if asked is
// KindDefault.
func (k Kind) Ranker(asked rank.Kind) rank.Kind {
	if k == Paper {
		return cmp.Or(asked, rank.KindPaper)
	}
	return cmp.Or(asked, rank.KindCalibrated)
}

// A Profile turns the features of photos into vectors. It is immutable and safe
// for concurrent use.
type Profile interface {
	Kind() Kind
	// Dimensions is the length of a vector before projection.
	Dimensions() int
	// Layout describes encrypted vectors and the unit of their distance.
	Layout() vectorlayout.Params
	// Network returns the digest of the image network that the profile needs,
	// if any.
	Network() (digest [32]byte, ok bool)
	// Vector returns the vector of one photo, with a keyword guess if the
	// profile has one. Vectors returns the same vectors without guesses.
	Vector(photo *feature.Vectors) (*vector.Vector, error)
	Vectors(photos []*feature.Vectors) ([]*vector.Vector, error)
	// ForCollection returns the profile with any state that depends on the
	// vectors of one index.
	ForCollection(vectors []*vector.Vector) (Profile, error)
	// Projector returns the projector under the index's secret `projection`.
	Projector(secret seed.Secret) (Projector, error)
	// AppendBinary appends the profile without its kind.
	AppendBinary(b []byte) ([]byte, error)
	// Validate checks a decoded profile.
	Validate() error
}

// A Projector turns a vector into the integers z that are encrypted. The
// squared Euclidean distance of two z represents the vectors' distance, scaled
// by Layout().Unit.
type Projector interface {
	Project(v *vector.Vector) ([]int16, error)
	ProjectAll(v []*vector.Vector) ([][]int16, error)
}

// Options configures Fit.
type Options struct {
	// PCA is X in PCA-X for profile `paper`, one of PCAFactors, 0 for
	// DefaultPCA.
	PCA int
	// MaxValidationPhotos bounds the photos of a cross-validation, 0 for the
	// default of package learn.
	MaxValidationPhotos int
	// Text is the text half of the network of profile `network`, nil if it has
	// none.
	Text     TextVectors
	Progress progress.Func
}

// A Fitted is a fitted profile with the by-products of fitting.
type Fitted struct {
	Profile Profile
	// Ranker is the calibrated ranker, nil if fitting gives none.
	Ranker *rank.Calibrated
	// Samples are photos with their nearest other photos, by a distance that
	// was not learnt from the photo. Only learnt profiles have samples.
	Samples []rank.Sample
	// Validation is the measured quality of the requested ranker, or nil.
	Validation *rank.Validation
}

func Fit(ctx context.Context, kind Kind, photos []*feature.Vectors, keywords [][]string, opt Options) (*Fitted, error) {
	if kind == Paper {
		opt.PCA = cmp.Or(opt.PCA, DefaultPCA)
		p, err := fitPaper(ctx, photos, opt)
		return &Fitted{Profile: p}, err
	}
	return fitLearned(ctx, kind, photos, keywords, opt)
}

// Append appends a profile's kind and then the profile.
func Append(b []byte, p Profile) ([]byte, error) { return p.AppendBinary(append(b, byte(p.Kind()))) }

// Read decodes the output of Append.
func Read(r *wire.Reader) (Profile, error) {
	kind := Kind(r.U8("profile"))
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case kind == Paper:
		return readPaper(r)
	case kind.Valid():
		return readLearned(r, kind)
	}
	r.Fail("profile %d", kind)
	return nil, r.Err()
}

func mapRows(photos []*feature.Vectors, row func(*feature.Vectors) ([]float32, error)) ([][]float32, error) {
	rows := make([][]float32, len(photos))
	for i, photo := range photos {
		var err error
		if rows[i], err = row(photo); err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
	}
	return rows, nil
}

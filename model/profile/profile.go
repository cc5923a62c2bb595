// Package profile turns the features of a photo into the integers that the
// schemes encrypt.
//
//	Fit        features and keywords of a collection ─▶ Fitted: a Profile, perhaps a ranker
//	Profile    features ─▶ vector.Vector
//	Projector  vector.Vector ─▶ z, small integers, which every scheme encrypts
//
// A profile is fitted once, on the collection, and stays with the owner,
// because it was learnt from private photos and, for profiles "learned" and
// "network", from their keywords.
package profile

import (
	"cmp"
	"context"

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
	// Paper compares seven features of colour and texture by L1 distance and
	// Kullback-Leibler divergence.
	Paper Kind = 0
	// Learned compares these features and patches by the squared L2 distance of
	// a projection, which is learnt from the collection's keywords.
	Learned Kind = 1
	// Network compares an image network's embeddings in the same way.
	Network Kind = 2
	// Clip compares embeddings of a CLIP-like network by a projection that also
	// takes the vectors of texts.
	Clip Kind = 3
)

var kinds = enum.Table[Kind]{What: "profile", Names: []string{"paper", "learned", "network", "clip"}}

func Kinds() []Kind { return kinds.All() }

func (k Kind) String() string { return kinds.String(k) }

func (k Kind) Valid() bool { return kinds.Has(k) }

func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

func ParseKind(name string) (Kind, error) { return kinds.Parse(name, cpar.ErrInput) }

// Ranker returns `asked`, or the profile's default ranker for KindDefault.
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
	// Layout describes the encrypted vectors z and the unit of their distance.
	Layout() vectorlayout.Params
	// Network returns the digest of the profile's image network, if any.
	Network() (digest [32]byte, ok bool)
	// Vector returns the vector of one photo, with a keyword guess if the
	// profile has one. Vectors returns the same vectors without guesses.
	Vector(photo *feature.Vectors) (*vector.Vector, error)
	Vectors(photos []*feature.Vectors) ([]*vector.Vector, error)
	// ForCollection returns a profile that also holds any state that depends on
	// the vectors of one index.
	ForCollection(vectors []*vector.Vector) (Profile, error)
	// Projector returns the projector for the index's secret "projection".
	Projector(secret seed.Secret) (Projector, error)
	// AppendBinary appends the profile without its kind.
	AppendBinary(b []byte) ([]byte, error)
	Validate() error
}

// A Projector turns a vector into the integers z that are encrypted. Their
// squared Euclidean distance is the vectors' distance (for profile "paper" its
// L1 part), scaled by Layout().Unit.
type Projector interface {
	Project(v *vector.Vector) ([]int16, error)
	ProjectAll(v []*vector.Vector) ([][]int16, error)
}

type Options struct {
	// PCA is X in PCA-X for profile "paper", one of PCAFactors, or 0 for
	// DefaultPCA.
	PCA int
	// Dim is the number of dimensions of profile "clip", one of ClipDims, or 0
	// for the first.
	Dim int
	// MaxValidationPhotos is the maximum number of photos in a
	// cross-validation, or 0 for the default of package learn.
	MaxValidationPhotos int
	// Text is the text half of a CLIP-like network, or nil if the network has
	// none. Profile "clip" requires it.
	Text     TextVectors
	Progress progress.Func
}

// A Fitted is a fitted profile with the by-products of fitting.
type Fitted struct {
	Profile Profile
	// Ranker is the calibrated ranker, nil for profile "paper".
	Ranker *rank.Calibrated
	// Samples are photos with their nearest other photos. The distance was not
	// learnt from the photo itself. Profile "paper" has no samples.
	Samples []rank.Sample
	// Validation is the measured quality of the requested ranker, or nil.
	Validation *rank.Validation
}

func Fit(ctx context.Context, kind Kind, photos []*feature.Vectors, keywords [][]string, opt Options) (*Fitted, error) {
	switch kind {
	case Paper:
		opt.PCA = cmp.Or(opt.PCA, DefaultPCA)
		p, err := fitPaper(ctx, photos, opt)
		return &Fitted{Profile: p}, err
	case Clip:
		p, err := fitClip(ctx, photos, keywords, opt)
		return &Fitted{Profile: p}, err
	}
	return fitLearned(ctx, kind, photos, keywords, opt)
}

// Append appends a profile's kind and then the profile.
func Append(b []byte, p Profile) ([]byte, error) { return p.AppendBinary(append(b, byte(p.Kind()))) }

func Read(r *wire.Reader) (Profile, error) {
	kind := Kind(r.U8("profile"))
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case kind == Paper:
		return readPaper(r)
	case kind == Clip:
		return readClip(r)
	case kind.Valid():
		return readLearned(r, kind)
	}
	r.Fail("profile %d", kind)
	return nil, r.Err()
}

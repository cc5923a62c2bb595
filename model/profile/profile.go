// Package profile is what is looked at in a photo before anything is encrypted.
//
//	Fit        a collection's features and keywords ─▶ Fitted: a Profile, perhaps a ranker
//	Profile    features ─▶ vector.Vector
//	Projector  vector.Vector ─▶ z, small integers, which every scheme encrypts
//
// A profile is fitted once, on the collection, and stays with the owner: it was
// learnt from private photos, and `learned` and `network` from their keywords.
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

// A Kind names a profile.
type Kind uint8

// The profiles.
const (
	// Paper: seven features of colour and texture, compared by L1 and KL.
	Paper Kind = 0
	// Learned: a projection of these and of patches that was learnt from the
	// collection's keywords, compared by squared L2.
	Learned Kind = 1
	// Network: a projection, learnt in the same way, of the embedding of an image
	// network, compared by squared L2.
	Network Kind = 2
)

var kinds = enum.Table[Kind]{What: "profile", Names: []string{"paper", "learned", "network"}}

// Kinds lists the profiles in the order of their constants.
func Kinds() []Kind { return kinds.All() }

func (k Kind) String() string { return kinds.String(k) }

// Valid reports whether k is one of the profiles.
func (k Kind) Valid() bool { return kinds.Has(k) }

// MarshalText writes a profile in JSON as String does.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is ParseKind.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

// ParseKind is the inverse of Kind.String.
func ParseKind(name string) (Kind, error) { return kinds.Parse(name, cpar.ErrInput) }

// Ranker is the kind of ranker that k gets where asked for another or for none.
func (k Kind) Ranker(asked rank.Kind) rank.Kind {
	if k == Paper {
		return cmp.Or(asked, rank.KindPaper)
	}
	return cmp.Or(asked, rank.KindCalibrated)
}

// A Profile turns the features of photos into vectors. It does not change, and
// its methods may be called concurrently.
type Profile interface {
	Kind() Kind
	// Dimensions is the length of a vector before it is projected: 864 levels with
	// `paper` at PCA-32, at most MaxLearnedDim values with the others.
	Dimensions() int
	// Layout describes encrypted vectors and the unit of their distance.
	Layout() vectorlayout.Params
	// Network is the digest of the image network whose embeddings it takes; ok is
	// false where it takes none.
	Network() (digest [32]byte, ok bool)
	// Vector makes the vector of one photo, with a guess of its keywords where the profile
	// has one; Vectors the same vectors for many at once, without guesses.
	Vector(photo *feature.Vectors) (*vector.Vector, error)
	Vectors(photos []*feature.Vectors) ([]*vector.Vector, error)
	// ForCollection is the profile with whatever depends on the vectors of one index.
	ForCollection(vectors []*vector.Vector) (Profile, error)
	// Projector makes the integers; secret is the index's secret `projection`.
	Projector(secret seed.Secret) (Projector, error)
	// AppendBinary appends the profile, without its kind.
	AppendBinary(b []byte) ([]byte, error)
	// Validate checks what was decoded.
	Validate() error
}

// A Projector makes of a vector the integers z that are encrypted: the squared
// Euclidean distance of two z, in Layout().Unit, stands for the distance of the vectors.
type Projector interface {
	Project(v *vector.Vector) ([]int16, error)
	ProjectAll(v []*vector.Vector) ([][]int16, error)
}

// Options say how a profile is fitted.
type Options struct {
	// PCA is X of PCA-X in profile `paper`, one of PCAFactors; 0 means DefaultPCA.
	PCA int
	// Asked bounds the photos of a cross-validation; 0 for the default of package
	// learn.
	MaxValidationPhotos int
	Progress            progress.Func
}

// A Fitted is a profile that was fitted to a collection, and what was found out on
// the way.
type Fitted struct {
	Profile Profile
	// Ranker is a calibrated one where fitting gives one, else nil.
	Ranker *rank.Calibrated
	// Samples are photos with their nearest others while fitting did not know them;
	// of profiles that are learnt from keywords only.
	Samples []rank.Sample
	// Validation is what was measured of the ranker that was asked for; nil if
	// nothing was.
	Validation *rank.Validation
}

// Fit fits a profile to photos and their keywords.
func Fit(ctx context.Context, kind Kind, photos []*feature.Vectors, keywords [][]string, opt Options) (*Fitted, error) {
	if kind == Paper {
		opt.PCA = cmp.Or(opt.PCA, DefaultPCA)
		p, err := fitPaper(ctx, photos, opt)
		return &Fitted{Profile: p}, err
	}
	return fitLearned(ctx, kind, photos, keywords, opt)
}

// Append appends a profile, its kind first.
func Append(b []byte, p Profile) ([]byte, error) { return p.AppendBinary(append(b, byte(p.Kind()))) }

// Read is the inverse of Append.
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

package user

import (
	"context"
	"fmt"
	"strings"

	"cpar"
	"cpar/internal/wire"
	"cpar/user/combined"
	"cpar/user/feature"
	"cpar/user/vector"
)

// A ProfileKind names a way from a photo to the vector that is encrypted.
type ProfileKind uint8

// The profiles.
const (
	// ProfilePaper: seven features of colour and texture, compared by L1 and KL.
	ProfilePaper ProfileKind = 0
	// ProfileLearned: a projection of the seven features that was learnt from
	// the collection's keywords, compared by squared L2.
	ProfileLearned ProfileKind = 1
	// ProfileNetwork: a projection, learnt in the same way, of the embedding of
	// an image network, compared by squared L2.
	ProfileNetwork ProfileKind = 2
)

var profileKinds = []ProfileKind{ProfilePaper, ProfileLearned, ProfileNetwork}

func (k ProfileKind) String() string {
	switch k {
	case ProfilePaper:
		return "paper"
	case ProfileLearned:
		return "learned"
	case ProfileNetwork:
		return "network"
	}
	return fmt.Sprintf("profile %d", uint8(k))
}

// ParseProfile is the inverse of ProfileKind.String.
func ParseProfile(name string) (ProfileKind, error) {
	for _, k := range profileKinds {
		if strings.EqualFold(name, k.String()) {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%w: no profile %q; there are paper, learned and network", cpar.ErrInput, name)
}

// A front is the part of a profile that can be exchanged: what turns the raw
// vectors of a photo into the one that is encrypted. It was fitted once, on the
// collection, and does not change; its methods may be called concurrently.
type front interface {
	kind() ProfileKind
	shape() shape
	// vectors are those of many photos, with the results of vector.
	vectors(photos []*feature.Vectors) ([]*vector.Vector, error)
	vector(photo *feature.Vectors) (*vector.Vector, error)
	appendBinary(b []byte) ([]byte, error)
	// validate checks what was decoded.
	validate() error
}

// A shape is what encryption and search need to know of a front's vectors.
type shape struct {
	// plain is the layout of the encrypted vector and the unit of its distance.
	plain combined.Params
	// levels is the number of coordinates that a forest may split.
	levels int
}

// A coder makes the integers z of vectors, which are encrypted.
type coder interface {
	// embed is z of one photo.
	embed(v *vector.Vector) ([]int32, error)
	// embedAll is that of many.
	embedAll(v []*vector.Vector) ([][]int16, error)
}

// fitFront fits the front of opt.Profile on a collection, and the ranker that
// goes with it where fitting gives one.
func fitFront(ctx context.Context, images []Image, opt Options, p *profile) error {
	switch opt.Profile {
	case ProfilePaper:
		f, err := fitPaper(ctx, images, opt)
		p.front = f
		return err
	default:
		f, ranker, err := fitEmbedded(ctx, images, opt)
		p.front, p.ranker = f, ranker
		return err
	}
}

func appendFront(b []byte, f front) ([]byte, error) {
	return f.appendBinary(append(b, byte(f.kind())))
}

func readFront(r *wire.Reader) (front, error) {
	switch kind := ProfileKind(r.U8("profile")); kind {
	case ProfilePaper:
		return readPaper(r)
	case ProfileLearned, ProfileNetwork:
		return readEmbedded(r, kind)
	default:
		r.Fail("profile %d", kind)
		return nil, r.Err()
	}
}

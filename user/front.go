package user

import (
	"context"
	"fmt"
	"strings"

	"cpar"
	"cpar/internal/wire"
	"cpar/user/combined"
	"cpar/user/feature"
	"cpar/user/rank"
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

// MarshalText writes a profile in JSON as String does.
func (k ProfileKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

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

// A fitted is a front that was fitted on the images of a collection, and what
// was found out on the way.
type fitted struct {
	front front
	// ranker is a calibrated one where fitting gives one, else nil.
	ranker *rank.Calibrated
	// samples are photos with their nearest others while fitting did not know
	// them, and words the keywords of the collection as samples name them; of fronts
	// that are learnt from keywords only.
	samples []rank.Sample
	words   [][]string
	// validation is what was measured of the ranker asked for; nil if nothing was.
	validation *Validation
}

// fitFront fits the front of opt.Profile on a collection, unless that was done.
func fitFront(ctx context.Context, images []Image, opt Options) (*fitted, error) {
	if like := opt.Like; like != nil {
		return &fitted{front: like.profile.front, ranker: like.profile.ranker, validation: like.Validation}, nil
	}
	if opt.fitted != nil {
		return opt.fitted, nil
	}
	if opt.Profile == ProfilePaper {
		f, err := fitPaper(ctx, images, opt)
		return &fitted{front: f}, err
	}
	fit, err := fitEmbedded(ctx, images, opt)
	if err != nil {
		return nil, err
	}
	fit.validation, err = validate(fit.samples, fit.words, opt.Ranker.of(opt.Profile), calibrateKeep)
	fit.samples, fit.words = nil, nil // have served, and are large
	return fit, err
}

// use gives the profile a front of its own: it may be used for another index, too.
func (p *profile) use(fit *fitted) {
	p.front, p.ranker = fit.front, fit.ranker
	if f, ok := p.front.(*paperFront); ok {
		own := *f // its baselines will be those of these images
		p.front = &own
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

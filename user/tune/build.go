package tune

import (
	"context"

	"cpar/model/profile"
	"cpar/user"
)

// A Plan says what Build decides.
type Plan struct {
	user.Options
	// Suited takes the profile that suits the collection by a rule
	// (user.SuitedProfile), TryProfiles the one that Tune recommends.
	Suited, TryProfiles bool
	// TryScheme takes the scheme and structure that Choose measures to be best.
	TryScheme bool
	Tune      Options
}

// Check refuses what Build would refuse of every collection, before photos are read. A
// profile that the photos are to decide is taken for one that any block width suits.
func (o Plan) Check() error {
	if o.Suited || o.TryProfiles {
		o.Profile = profile.Learned
	}
	return o.Options.Check()
}

// Decided is what Build has decided, and why; nil where nothing was tried.
type Decided struct {
	Tuning *Tuning
	Choice *Choice
}

// Build sets an index up, and decides before what it is asked to decide.
func Build(ctx context.Context, key *user.Key, images []user.Photo, o Plan) (*user.Builder, Decided, error) {
	var d Decided
	var err error
	if o.Suited {
		o.Profile = user.SuitedProfile(images)
	}
	if o.TryProfiles {
		if d.Tuning, err = Tune(ctx, images, o.Tune); err != nil {
			return nil, d, err
		}
		o.Options = d.Tuning.Apply(o.Options)
	}
	if o.TryScheme {
		b, choice, err := Choose(ctx, key, images, o.Options)
		d.Choice = choice
		return b, d, err
	}
	b, err := user.Setup(ctx, key, images, o.Options)
	return b, d, err
}

package tune

import (
	"context"

	"cpar/model/profile"
	"cpar/user"
)

// A Plan lists the decisions that Build makes.
type Plan struct {
	user.Options
	// Suited selects the profile by a rule (user.SuitedProfile), TryProfiles by
	// Tune.
	Suited, TryProfiles bool
	// TryScheme selects the scheme and search by Choose.
	TryScheme bool
	Tune      Options
}

// Check reports configurations that Build refuses for every collection, before
// photos are read. A profile still to be selected is assumed to suit any block
// width.
func (o Plan) Check() error {
	if o.Suited || o.TryProfiles {
		o.Profile = profile.Learned
	}
	return o.Options.Check()
}

// Decided holds the decisions of Build, nil for those not made.
type Decided struct {
	Tuning *Tuning
	Choice *Choice
}

// Build prepares an index after making the decisions of a plan.
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

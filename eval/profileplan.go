package eval

import (
	"context"
	"encoding/hex"

	"cpar/eval/step"
)

// profileInputs are what decides the profiles besides the collection. The runtime
// decides what an embedding costs.
type profileInputs struct {
	N                int
	Network, Runtime string
}

// networkInputs names the lab's network, if there is one.
func (p *Plan) networkInputs() (in profileInputs, err error) {
	network, err := p.Lab.Network()
	if err != nil || network == nil {
		return in, err
	}
	digest := network.Digest()
	in.Network, in.Runtime = hex.EncodeToString(digest[:]), network.Runtime()
	return in, nil
}

// Profiles lays the profiles side by side.
func (p *Plan) Profiles(ctx context.Context) (*Profiles, step.Record, error) {
	inputs, err := p.networkInputs()
	if err != nil {
		return nil, step.Record{Name: "profiles"}, err
	}
	inputs.N = p.N
	return run(ctx, p, "profiles", inputs, func(ctx context.Context) (*Profiles, error) {
		p.Lab.dropSession()
		return MeasureProfiles(ctx, p.Lab, p.N)
	})
}

// ProfileGrowth is scheme sealed with short vectors as it grows.
func (p *Plan) ProfileGrowth(ctx context.Context) (*ProfileGrowth, step.Record, error) {
	sizes := ProfileSizes
	if p.N < sizes[0] {
		n := max(p.N, 100) // fewer photos have nothing to be learnt from
		sizes = []int{n, 2 * n}
	}
	return run(ctx, p, "profile-growth", sizes, func(ctx context.Context) (*ProfileGrowth, error) {
		p.Lab.dropSession() // its memory would count
		return MeasureProfileGrowth(ctx, sizes, p.Lab.Progress)
	})
}

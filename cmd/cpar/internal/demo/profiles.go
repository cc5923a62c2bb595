package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

// heldOut is the maximum number of photos outside the index that every profile
// annotates.
const heldOut = 80

// A Profile is one column of the comparison: the findings for all held-out
// photos and their cost, under the default scheme with its default search and
// ranking.
type Profile struct {
	Profile string `json:"profile"`
	// Name describes the profile in plain words.
	Name   string `json:"name"`
	Search string `json:"search"`
	Photos int    `json:"photos"`
	Tally
	// RecordBytes is the encrypted size of an indexed photo. Sent and Received
	// are per photo.
	RecordBytes uint64 `json:"bytes_of_encrypted_photo"`
	Sent        int    `json:"bytes_sent"`
	Received    int    `json:"bytes_received"`
	// DeviceMS covers features, request, decryption and ranking. CloudMS is the
	// HTTP round trip. Both are medians per photo.
	DeviceMS float64 `json:"home_ms"`
	CloudMS  float64 `json:"cloud_ms"`

	home, cloud []time.Duration // of every photo
}

// A LeftOut is a profile that could not learn from the collection.
type LeftOut struct {
	Profile string `json:"profile"`
	Reason  string `json:"reason"`
}

// names describes the profiles for newcomers.
var names = map[profile.Kind]string{
	profile.Paper:   "colours and textures (the paper)",
	profile.Learned: "learnt from your keywords",
	profile.Network: "with an image network",
}

// compared returns the profiles to compare with `paper`. There are none for
// painted images, because learning takes long and eight photos are too few.
func (o *Options) compared() []profile.Kind {
	switch {
	case o.Data == "":
		return nil
	case o.Network == nil:
		return []profile.Kind{profile.Learned}
	}
	return []profile.Kind{profile.Learned, profile.Network}
}

// buildProfiles builds an index of the default scheme for every profile.
func (s *session) buildProfiles(ctx context.Context) error {
	for _, kind := range append([]profile.Kind{profile.Paper}, s.compared()...) {
		x := &indexed{name: kind.String(), scheme: user.DefaultScheme, profile: kind}
		var o user.Options
		o.Progress = s.Progress // not s.tell, because the costs shown belong to another index
		if kind == profile.Paper && len(s.records) >= calibrateFrom {
			o.Ranker = rank.KindCalibrated
		}
		var left error
		_, err := s.step(func() string {
			if left != nil {
				return fmt.Sprintf("profile %v cannot learn from these keywords: left out", kind)
			}
			return fmt.Sprintf("learn from %d keywords, encrypt %d records, profile %v", s.result.Words, x.manifest.Records, kind)
		}, func() error {
			err := s.setUp(ctx, x, o)
			if kind != profile.Paper && errors.Is(err, cpar.ErrInput) {
				left = err
				return nil
			}
			if err != nil {
				return err
			}
			return s.write(ctx, x)
		})
		switch {
		case err != nil:
			return err
		case left != nil:
			s.result.LeftOut = append(s.result.LeftOut, LeftOut{kind.String(), left.Error()})
		default:
			s.profiles = append(s.profiles, x)
		}
	}
	return nil
}

// choose takes the best profile, or the default of cpar build if the best one
// is in doubt.
func (s *session) choose(context.Context) error {
	at := s.result.best()
	if at < 0 {
		suited := user.SuitedProfile(s.images())
		at = max(0, slices.IndexFunc(s.profiles, func(x *indexed) bool { return x.profile == suited }))
	}
	x := s.profiles[at]
	s.indexes[user.DefaultScheme] = x
	s.result.Chosen = x.profile.String()
	return nil
}

// compareProfiles annotates every held-out photo with every profile.
func (s *session) compareProfiles(ctx context.Context) error {
	r := &s.result
	for _, x := range s.profiles {
		r.Profiles = append(r.Profiles, x.describe())
	}
	_, err := s.step(func() string {
		if len(s.profiles) == 1 {
			return fmt.Sprintf("find keywords for %d pictures that are not in the index", len(s.held))
		}
		return fmt.Sprintf("find keywords for %d held-out pictures, %d profiles each", len(s.held), len(s.profiles))
	}, func() error {
		for i, it := range s.held {
			h := HeldOut{Name: it.Name, Truth: it.Keywords}
			for j, x := range s.profiles {
				said, err := s.suggest(ctx, x, &r.Profiles[j], it)
				if err != nil {
					return fmt.Errorf("comparing profiles: with %v: %w", x.profile, err)
				}
				h.Suggestions = append(h.Suggestions, *said)
			}
			r.HeldOut = append(r.HeldOut, h)
			s.tell("compare", i+1, len(s.held))
		}
		return nil
	})
	for i := range r.Profiles {
		p := &r.Profiles[i]
		p.DeviceMS, p.CloudMS = median(p.home), median(p.cloud)
	}
	return err
}

func (x *indexed) describe() Profile {
	p := Profile{
		Profile: x.profile.String(), Name: names[x.profile], Search: x.opened.DefaultParams().Search.String(),
		Tally: Tally{Ranker: x.opened.Ranker().Kind().String(), Count: Count{Probable: x.probable()}},
	}
	for _, segment := range x.manifest.Segments {
		if segment.Kind == cpar.SegmentVectors || segment.Kind == cpar.SegmentKeywords {
			p.RecordBytes += segment.Bytes
		}
	}
	p.RecordBytes /= uint64(x.manifest.Records)
	return p
}

// suggest annotates one photo and adds the result to sum.
func (s *session) suggest(ctx context.Context, x *indexed, sum *Profile, it item) (*Suggestion, error) {
	a, _, err := s.ask(ctx, x, it, x.opened.DefaultParams())
	if err != nil {
		return nil, err
	}
	took := a.Took
	sum.home = append(sum.home, took.Features+took.Vector+took.Request+took.Read)
	sum.cloud = append(sum.cloud, took.Answer)
	said := newSuggestion(x.profile.String(), a.Keywords, it.Keywords)
	sum.Photos++
	sum.add(said, it.Keywords)
	sum.Sent, sum.Received = a.Sent, a.Received
	return said, nil
}

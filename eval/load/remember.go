package load

import (
	"sync"

	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/vector"
)

// A remembering is a fitted profile that makes each photo's vector once: the indexes of a
// run are of the same photos, and most of building one is that.
type memoizedProfile struct {
	profile.Profile
	mu   sync.Mutex
	made map[*feature.Vectors]*vector.Vector
}

// remember has fitted remember what it makes.
func memoize(fitted *profile.Fitted) *profile.Fitted {
	out := *fitted
	out.Profile = &memoizedProfile{Profile: fitted.Profile, made: map[*feature.Vectors]*vector.Vector{}}
	return &out
}

// Vectors implements profile.Profile.
func (r *memoizedProfile) Vectors(photos []*feature.Vectors) ([]*vector.Vector, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fresh []*feature.Vectors
	for _, photo := range photos {
		if r.made[photo] == nil {
			fresh = append(fresh, photo)
		}
	}
	made, err := r.Profile.Vectors(fresh)
	if err != nil {
		return nil, err
	}
	for i, photo := range fresh {
		r.made[photo] = made[i]
	}
	out := make([]*vector.Vector, len(photos))
	for i, photo := range photos {
		out[i] = r.made[photo]
	}
	return out, nil
}

package load

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"cpar"
	"cpar/cparhttp"
	"cpar/eval/measure"
	"cpar/internal/bearer"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user"
)

const (
	// poolSize is the number of requests in rotation, enough to evict the rows
	// that a request visits from the cache before it repeats.
	poolSize  = 64
	decrypted = 8
)

type index struct {
	*measure.Index
	records int
	owner   *user.Owner
	route   string // URL path of requests
	pool    []pooledRequest
}

// A pooledRequest holds the body of a request, the state to read its reply, and
// the reply received on an idle cloud.
type pooledRequest struct {
	body    []byte
	pending *user.Pending
	answer  []byte
}

func (x *index) prepare(ctx context.Context, c *measure.Corpus) (err error) {
	x.route = strings.Replace(cparhttp.PathAnnotate, "{id}", x.Manifest.ID.String(), 1)
	if x.owner, err = x.Device(); err != nil {
		return err
	}
	x.pool = make([]pooledRequest, min(poolSize, len(c.Test)))
	return measure.Each(ctx, len(x.pool), func(i int) error {
		pending, q, err := x.owner.Request(c.Test[i].Vectors, x.owner.DefaultParams())
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		x.pool[i].pending = pending
		x.pool[i].body, err = q.MarshalBinary()
		return err
	})
}

func (x *index) push(ctx context.Context, d *daemon, token bearer.Token) error {
	cloud, err := cparhttp.New(d.url, nil)
	if err == nil && !token.IsZero() {
		err = cloud.SetToken(token)
	}
	if err != nil {
		return err
	}
	_, err = cloud.Push(ctx, x.Path(), nil)
	return d.explain(err)
}

// recordAnswers sends every request once to the idle cloud. Later answers are
// compared with these.
func (x *index) recordAnswers(ctx context.Context, d *daemon, token bearer.Token) error {
	one := newClient(d.address, x.route, token)
	defer one.close()
	for i := range x.pool {
		a := &x.pool[i]
		switch got, err := one.exchange(ctx, a); {
		case err != nil:
			return d.explain(fmt.Errorf("asking request %d alone: %w", i, err))
		case got.status != http.StatusOK:
			return d.explain(fmt.Errorf("asking request %d alone: %w: status %d, %.300q", i, cpar.ErrCloud, got.status, got.body))
		default:
			a.answer = bytes.Clone(got.body)
		}
		if i < decrypted {
			if err := x.read(a); err != nil {
				return fmt.Errorf("reading the answer to request %d: %w", i, err)
			}
		}
	}
	return nil
}

func (x *index) read(a *pooledRequest) error {
	reply, err := cpar.DecodeReply(a.answer)
	if err != nil {
		return err
	}
	near, err := a.pending.Neighbours(reply)
	if err != nil {
		return err
	}
	if want := min(int(x.owner.DefaultParams().L), x.records); len(near) != want {
		return fmt.Errorf("%w: %d neighbours instead of %d", cpar.ErrCloud, len(near), want)
	}
	return nil
}

// memoizedProfile computes each photo's vector once, because the indexes of a
// run share their photos and vectors dominate the time to build one.
type memoizedProfile struct {
	profile.Profile
	mu   sync.Mutex
	made map[*feature.Vectors]*vector.Vector
}

func memoize(fitted *profile.Fitted) *profile.Fitted {
	out := *fitted
	out.Profile = &memoizedProfile{Profile: fitted.Profile, made: map[*feature.Vectors]*vector.Vector{}}
	return &out
}

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

package load

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cpar"
	"cpar/cparhttp"
	"cpar/eval/measure"
	"cpar/internal/bearer"
	"cpar/internal/indexdir"
	"cpar/internal/parallel"
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
	folder  string
	records int
	key     *user.Key
	files   *indexdir.Index
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

func (x *index) path() string { return filepath.Join(x.folder, "index") }

func (x *index) close() {
	if x.files != nil {
		x.files.Release()
	}
	os.RemoveAll(x.folder)
}

func (x *index) prepare(ctx context.Context, c *measure.Corpus) (err error) {
	if x.files, err = indexdir.Open(x.path()); err != nil {
		return err
	}
	m := x.files.Manifest()
	x.route = strings.Replace(cparhttp.PathAnnotate, "{id}", m.ID.String(), 1)
	if x.owner, err = user.Open(x.key, m, x.files.Read); err != nil {
		return err
	}
	held := map[cpar.Digest][]byte{}
	for i, segment := range m.Segments {
		if slices.Contains(x.owner.Needs(m), segment) {
			held[segment.Digest] = x.files.Segments()[i]
		}
	}
	if err := x.owner.Hold(m, held); err != nil {
		return err
	}
	x.pool = make([]pooledRequest, min(poolSize, len(c.Test)))
	errs := make([]error, len(x.pool))
	parallel.For(len(x.pool), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			x.pool[i], errs[i] = x.request(c.Test[i])
		}
	})
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	return nil
}

func (x *index) request(photo user.Photo) (a pooledRequest, err error) {
	v, err := x.owner.Vector(photo.Vectors)
	if err != nil {
		return a, err
	}
	pending, q, err := x.owner.RequestVector(v, x.owner.DefaultParams())
	if err != nil {
		return a, err
	}
	a.pending = pending
	a.body, err = q.MarshalBinary()
	return a, err
}

func (x *index) push(ctx context.Context, d *daemon, token bearer.Token) error {
	cloud, err := cparhttp.New(d.url, nil)
	if err == nil && !token.IsZero() {
		err = cloud.SetToken(token)
	}
	if err != nil {
		return err
	}
	_, err = cloud.Push(ctx, x.path(), nil)
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

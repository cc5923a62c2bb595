package load

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"cpar"
	"cpar/cparhttp"
	"cpar/eval/measure"
	"cpar/internal/bearer"
	"cpar/user"
)

const (
	// poolSize is the number of different requests that clients send in
	// rotation. By the time a request repeats, the records that it visits have
	// left the cache.
	poolSize = 64
	// decrypted is the number of replies per index whose decryption is checked.
	decrypted = 8
)

type index struct {
	*measure.Index
	records int
	owner   *user.Owner
	route   string // URL path of requests
	pool    []pooledRequest
}

// A pooledRequest holds the body of a request, the state for decrypting its
// reply, and the answer that an idle cloud sent.
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

// recordAnswers sends every request once to the idle cloud. Later answers must
// equal the recorded answers.
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

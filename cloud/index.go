package cloud

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/sealed"
	"cpar/cloud/search"
	"cpar/internal/hint"
)

// An index is what an index that was loaded can be asked.
type index interface {
	// annotate answers requests, all or none, in their order.
	annotate(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error)
}

// load is the Loader of a cloud's store.
func load(m *cpar.Manifest, segments [][]byte) (index, error) {
	switch m.Scheme {
	case cpar.SchemeSealed:
		x, err := sealed.Load(m, segments)
		return hidden{x}, err
	case cpar.SchemeLocal:
		return kept{}, m.Validate()
	}
	x, err := score.Load(m, segments)
	return scored{x}, err
}

// scored indexes are of scheme cpar or capia: scores are seen, and the records
// with the least are returned.
type scored struct{ *score.Index }

func (x scored) annotate(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error) {
	if err := allOf(requests, "it is of scheme "+x.Manifest.Scheme.String(), cpar.SchemeCPAR, cpar.SchemeCAPIA); err != nil {
		return nil, err
	}
	o := search.Options{Workers: workers}
	if len(requests) == 1 {
		reply, err := o.Annotate(ctx, x.Index, requests[0])
		if err != nil {
			return nil, err
		}
		own(reply)
		return []*cpar.Reply{reply}, nil
	}
	replies, err := o.AnnotateBatch(ctx, x.Index, requests)
	for _, r := range replies {
		own(r)
	}
	return replies, err
}

// own copies what of a reply lies in the index.
func own(r *cpar.Reply) {
	for i, m := range r.Matches {
		r.Matches[i].Keywords = append([]byte(nil), m.Keywords...)
	}
}

// hidden indexes are of scheme sealed: every record is scored, no score is seen.
type hidden struct{ *sealed.Index }

func (x hidden) annotate(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error) {
	if err := allOf(requests, "it is of scheme sealed", cpar.SchemeSealed); err != nil {
		return nil, err
	}
	return x.Annotate(ctx, workers, requests)
}

// kept indexes are of scheme local: the cloud serves their segments and no more.
type kept struct{}

func (kept) annotate(_ context.Context, _ int, requests []*cpar.Request) ([]*cpar.Reply, error) {
	return nil, allOf(requests, "it is of scheme local, fetched and searched by its owner")
}

// allOf refuses requests unless all are of schemes that the index answers.
func allOf(requests []*cpar.Request, index string, schemes ...cpar.Scheme) error {
	for i, q := range requests {
		known := false
		for _, s := range schemes {
			known = known || q.Params.Scheme == s
		}
		if known {
			continue
		}
		err := fmt.Errorf("%w: a request of scheme %v, which the index does not answer: %s", cpar.ErrInput, q.Params.Scheme, index)
		if len(requests) > 1 {
			err = fmt.Errorf("request %d of %d: %w", i+1, len(requests), err)
		}
		return hint.Add(err, "fetch the manifest of the index again, and ask as its scheme does")
	}
	return nil
}

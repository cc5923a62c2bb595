package cloud

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/sealed"
	"cpar/cloud/search"
	"cpar/cloud/shard"
	"cpar/internal/hint"
)

// A loadedIndex is an index of any scheme, ready to answer.
type loadedIndex interface {
	// annotate answers all requests or none, in the same order.
	annotate(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error)
}

// load is the Loader of a cloud's store.
func load(m *cpar.Manifest, p shard.Range, segments [][]byte) (loadedIndex, error) {
	switch m.Scheme {
	case cpar.SchemeSealed:
		x, err := sealed.LoadShard(m, p, segments)
		return sealedIndex{x}, err
	case cpar.SchemeLocal:
		return localIndex{}, m.Validate()
	}
	x, err := score.LoadShard(m, p, segments)
	return scoredIndex{x}, err
}

// A scoredIndex has scheme cpar, capia or ivf: the cloud sees the scores and returns the
// records with the smallest.
type scoredIndex struct{ *score.Index }

func (x scoredIndex) annotate(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error) {
	if err := checkSchemes(requests, "it has scheme "+x.Manifest.Scheme.String(), cpar.SchemeCPAR, cpar.SchemeCAPIA, cpar.SchemeIVF); err != nil {
		return nil, err
	}
	o := search.Options{Workers: workers}
	if len(requests) == 1 {
		reply, err := o.Annotate(ctx, x.Index, requests[0])
		if err != nil {
			return nil, err
		}
		copyKeywords(reply)
		return []*cpar.Reply{reply}, nil
	}
	replies, err := o.AnnotateBatch(ctx, x.Index, requests)
	for _, r := range replies {
		copyKeywords(r)
	}
	return replies, err
}

// copyKeywords copies the parts of a reply that alias the index.
func copyKeywords(r *cpar.Reply) {
	for i, m := range r.Matches {
		r.Matches[i].Keywords = append([]byte(nil), m.Keywords...)
	}
}

// A sealedIndex has scheme sealed: the cloud scores every record and sees no score.
type sealedIndex struct{ *sealed.Index }

func (x sealedIndex) annotate(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error) {
	if err := checkSchemes(requests, "it has scheme sealed", cpar.SchemeSealed); err != nil {
		return nil, err
	}
	return x.Annotate(ctx, workers, requests)
}

// A localIndex has scheme local: the cloud only serves its segments.
type localIndex struct{}

func (localIndex) annotate(_ context.Context, _ int, requests []*cpar.Request) ([]*cpar.Reply, error) {
	return nil, checkSchemes(requests, "it has scheme local and is searched by its owner")
}

// checkSchemes refuses requests unless the index answers the schemes of all of them.
func checkSchemes(requests []*cpar.Request, index string, schemes ...cpar.Scheme) error {
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

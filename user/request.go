package user

import (
	"cmp"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/model/feature"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/index"
)

// A Pending holds the owner's secrets for reading the reply to one request. It
// prints as redacted.
type Pending struct {
	seed.Redacted
	replyReader index.ReplyReader
}

// Request returns the state to keep and the request to send for a photo's
// features. The request is nil if the owner searches the index locally.
func (o *Owner) Request(f *feature.Vectors, p cpar.Params) (*Pending, *cpar.Request, error) {
	v, err := o.Vector(f)
	if err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	return o.RequestVector(v, p)
}

// RequestVector is like Request but takes a vector returned by Owner.Vector. Both
// ask only the nearest cell of an index that has cells.
func (o *Owner) RequestVector(v *vector.Vector, p cpar.Params) (*Pending, *cpar.Request, error) {
	if err := o.check(p); err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	reader, q, err := o.scheme.Request(v, p)
	if err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	return &Pending{replyReader: reader}, q, nil
}

// Asked returns the number of cells (hidden groups of records) that every search
// asks, or 1 if the index has none. It was chosen when the index was built.
func (o *Owner) Asked() int { return o.scheme.Asked() }

// Requests returns the requests of a search: Asked requests, or one per cell if
// every is set. The server sees their number.
func (o *Owner) Requests(v *vector.Vector, p cpar.Params, every bool) ([]*Pending, []*cpar.Request, error) {
	if err := o.check(p); err != nil {
		return nil, nil, fmt.Errorf("making a request: %w", err)
	}
	return o.requests(v, p, every)
}

func (o *Owner) requests(v *vector.Vector, p cpar.Params, every bool) ([]*Pending, []*cpar.Request, error) {
	readers, requests, err := o.scheme.Requests(v, p, every)
	if err != nil {
		return nil, nil, fmt.Errorf("making requests: %w", err)
	}
	pending := make([]*Pending, len(readers))
	for i, r := range readers {
		pending[i] = &Pending{replyReader: r}
	}
	return pending, requests, nil
}

// Nearest merges lists into the l nearest distinct neighbours, nearest first.
func Nearest(l int, lists ...[]rank.Neighbour) []rank.Neighbour {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b rank.Neighbour) int {
		return cmp.Or(cmp.Compare(a.Dis, b.Dis), cmp.Compare(a.Record, b.Record))
	})
	all = slices.CompactFunc(all, func(a, b rank.Neighbour) bool { return a.Record == b.Record })
	return all[:min(l, len(all))]
}

// DefaultParams returns the most accurate search that the index supports, with
// the number of neighbours that its ranker needs.
func (o *Owner) DefaultParams() cpar.Params {
	p := o.manifest.DefaultParams()
	p.L = uint16(o.ledger.ranker.Neighbours())
	return p
}

func (o *Owner) check(p cpar.Params) error {
	if err := p.Validate(); err != nil {
		return err
	}
	m := &o.manifest
	switch {
	case m.Serves(p) || p.Scheme == m.Scheme && !m.Scheme.CloudSearches():
		return nil
	case p.Scheme != m.Scheme && !m.Serves(cpar.Params{Scheme: p.Scheme}):
		return hint.Add(fmt.Errorf("%w: the index has scheme %v and does not serve %v", cpar.ErrInput, m.Scheme, p.Scheme), "leave --scheme out, or build an index of that scheme")
	case p.Search == cpar.SearchIVF:
		return hint.Add(fmt.Errorf("%w: the index has no inverted file", cpar.ErrInput), "ask without --search")
	}
	return hint.Add(fmt.Errorf("%w: the index has no forest", cpar.ErrInput), "ask without --search")
}

// Neighbours decodes a reply into records with their distances, nearest first. The
// reply is nil for a local search. Neighbours returns ErrCloud for a reply that was
// altered or belongs to another request, and ErrCorrupt for altered keywords.
func (p *Pending) Neighbours(a *cpar.Reply) ([]rank.Neighbour, error) {
	near, err := p.replyReader.Read(a)
	if err != nil {
		return nil, fmt.Errorf("reading the reply: %w", err)
	}
	return near, nil
}

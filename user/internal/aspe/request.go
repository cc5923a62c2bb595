package aspe

import (
	"fmt"
	"math"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/index"
	"cpar/user/ive"
	"cpar/user/scorevector"
)

// A ReplyReader holds the secret scale r_s of one request, and the request's
// plaintext, which Twin.Search needs.
type ReplyReader struct {
	seed.Redacted
	index  *Index
	params cpar.Params
	scale  int64
	// planeScale is r_p, the scale of plane scores, or 0 if the request has no
	// plane vector.
	planeScale int64
	plain      []int64
	point      []uint16
}

// Request encrypts a vector. Two requests for one photo share only their order
// ciphertexts, because r_s, r_p and the noise are fresh (SECURITY.md).
func (c *Index) Request(v *vector.Vector, p cpar.Params) (index.ReplyReader, *cpar.Request, error) {
	if p.Prune && c.Profile.Kind() != profile.Paper {
		return nil, nil, hint.Add(fmt.Errorf("%w: profile %v compares squared distances, which planes do not bound in proportion", cpar.ErrInput, c.Profile.Kind()), "ask without --prune")
	}
	if len(c.fields) == 0 { // all photos are alike, so there are no planes
		p.Prune = false
		if p.Search == cpar.SearchBestBin {
			p.Search = cpar.SearchDepthFirst
		}
	}
	z, err := c.project(v)
	if err != nil {
		return nil, nil, err
	}
	d := index.NewDigest()
	index.Add(d, z)
	index.Add(d, v.KL)
	index.Add(d, v.Levels) // plane requests depend on levels, which z does not determine
	noise := ive.NewNoise(c.Fresh("request", d.Sum()))
	q := &cpar.Request{Index: c.ID, Params: p}
	reading := &ReplyReader{index: c, params: p, scale: noise.Scale()}
	if q.Vector, err = c.encryptRequest(z, v.KL, reading, noise); err != nil {
		return nil, nil, err
	}
	if !p.UsesForest() {
		return reading, q, nil
	}
	reading.point = c.point(v)
	q.Order = make([]cpar.OrderCiphertext, len(c.fields))
	for i, f := range c.fields {
		if q.Order[i], err = c.order(i, reading.point[f]); err != nil {
			return nil, nil, err
		}
	}
	if p.UsesPlanes() {
		q.Planes, err = c.planeRequest(reading, noise)
	}
	return reading, q, err
}

// Asked returns 1, because these schemes have no hidden cells.
func (c *Index) Asked() int { return 1 }

// Requests returns one request, because these schemes search all records.
func (c *Index) Requests(v *vector.Vector, p cpar.Params, _ bool) ([]index.ReplyReader, []*cpar.Request, error) {
	reader, q, err := c.Request(v, p)
	if err != nil {
		return nil, nil, err
	}
	return []index.ReplyReader{reader}, []*cpar.Request{q}, nil
}

// project returns z, the projected vector of a photo. It shortens a vector that
// is longer than any photograph's instead of rejecting it.
func (c *Index) project(v *vector.Vector) ([]int16, error) {
	z, err := c.Projector.Project(v)
	if err == nil {
		c.budget.Clamp(z)
	}
	return z, err
}

func (c *Index) encryptRequest(z []int16, histogram []float64, reading *ReplyReader, noise *ive.Noise) ([]uint64, error) {
	key, err := c.vectors()
	if err != nil {
		return nil, err
	}
	reading.plain = make([]int64, c.budget.Dim())
	if err := c.budget.Request(reading.plain, z, histogram, reading.scale, c.part.farthest); err != nil {
		return nil, err
	}
	t := make([]uint64, len(reading.plain))
	return t, key.EncryptRequest(t, reading.plain, noise)
}

// point returns the photo's coordinates for plane comparisons. A point too far
// from the centres for exact plane scores is moved towards them. Photographs
// have no such points.
func (c *Index) point(v *vector.Vector) []uint16 {
	point := c.part.split.point(v.Levels)
	if c.part.split.basis == nil {
		return point // levels always fit (package scorevector)
	}
	var away int64
	for i, f := range c.fields {
		d := int64(point[f]) - int64(c.part.centres[i])
		away += max(d, -d)
	}
	if limit := c.planeLimit; away > limit {
		for i, f := range c.fields {
			centre := int64(c.part.centres[i])
			point[f] = uint16(centre + (int64(point[f])-centre)*limit/away)
		}
	}
	return point
}

// planeRequest returns the encrypted plane vector, and for pruning the factor
// that converts a plane's score to the scale of record scores.
func (c *Index) planeRequest(reading *ReplyReader, noise *ive.Noise) (*cpar.PlaneRequest, error) {
	key, err := c.planes()
	if err != nil {
		return nil, err
	}
	levels := make([]int, len(c.fields))
	for i, f := range c.fields {
		levels[i] = int(reading.point[f])
	}
	planeScale := key.budget.Scale(noise)
	reading.planeScale = planeScale
	plain := make([]int64, key.budget.Dim())
	if err := key.budget.Request(plain, levels, planeScale); err != nil {
		return nil, err
	}
	q := &cpar.PlaneRequest{Vector: make([]uint64, len(plain))}
	if err := key.EncryptRequest(q.Vector, plain, noise); err != nil {
		return nil, err
	}
	walk, ok := c.Projector.(profile.PaperProjector)
	if !ok {
		return q, nil // plane distances order the search, but there is no pruning
	}
	// One level of distance equals m̂ squared JL units. PlaneFactor allows for
	// JL estimates below the true L1 distance.
	perUnit := scorevector.PlaneFactor * float64(walk.MHat()) * c.part.split.unit() * float64(reading.scale) / float64(planeScale)
	q.Scale = uint64(math.Round(perUnit * (1 << 16)))
	q.Offset = uint64(reading.scale * c.budget.Offset())
	return q, nil
}

// Read decodes a reply into the nearest records, nearest first. It rejects
// replies to other requests (ErrCloud) and altered keywords (ErrCorrupt).
func (p *ReplyReader) Read(a *cpar.Reply) ([]rank.Neighbour, error) {
	c := p.index
	fail := func(format string, args ...any) ([]rank.Neighbour, error) {
		return nil, fmt.Errorf("%w: %s", cpar.ErrCloud, fmt.Sprintf(format, args...))
	}
	want := min(int(p.params.L), c.Records)
	switch {
	case a == nil:
		return fail("there is none")
	case a.Index != c.ID:
		return fail("it comes from index %v, the request went to %v", a.Index, c.ID)
	case len(a.Matches) > want, len(a.Matches) < want && !p.params.UsesPlanes():
		return fail("it holds %d records, %d were asked for", len(a.Matches), want)
	}
	seen := map[uint32]bool{}
	out := make([]rank.Neighbour, len(a.Matches))
	for i, m := range a.Matches {
		if int(m.Record) >= c.Records || seen[m.Record] {
			return fail("record %d is out of range or there twice", m.Record)
		}
		seen[m.Record] = true
		words, err := c.Keywords.Decrypt(m.Record, m.Keywords)
		if err != nil {
			return nil, err
		}
		out[i] = rank.Neighbour{Record: m.Record, Dis: c.budget.Dis(m.Score, p.scale), Keywords: words}
		// Distances below the noise carry no information.
		if out[i].Dis < scorevector.MaxError {
			out[i].Dis = 0
		}
	}
	return out, nil
}

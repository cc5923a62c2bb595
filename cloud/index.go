package cloud

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/sealed"
	"cpar/cloud/search"
	"cpar/cloud/shard"
	"cpar/internal/hint"
	"cpar/internal/lattice"
)

// A scheme contains the operations in which the schemes differ on the server.
// All operations except load are nil if the server does not answer requests of
// the scheme.
type scheme struct {
	load func(m *cpar.Manifest, p shard.Range, segments [][]byte) (loadedIndex, error)
	// join merges the replies of all shards, in order.
	join func(q *cpar.Request, shards []*cpar.Reply) (*cpar.Reply, error)
	// work implements the function Work.
	work func(m *cpar.Manifest, r *cpar.Reply) (visited, touched uint64)
	// replyBytes bounds the memory of a reply, excluding a fixed overhead.
	replyBytes func(m *cpar.Manifest, q *cpar.Request) int64
	// batch returns the number of requests that are best answered together.
	batch func() int64
}

var schemes = map[cpar.Scheme]scheme{
	cpar.SchemeCPAR:  scored,
	cpar.SchemeCAPIA: scored,
	cpar.SchemeIVF:   scored,
	// The server scores every record but cannot read the scores.
	cpar.SchemeSealed: {
		load: func(m *cpar.Manifest, p shard.Range, segments [][]byte) (loadedIndex, error) {
			x, err := sealed.LoadShard(m, p, segments)
			return func(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error) {
				if err := checkSchemes(requests, "it has scheme sealed", cpar.SchemeSealed); err != nil {
					return nil, err
				}
				return x.Annotate(ctx, workers, requests)
			}, err
		},
		join: joinSealed,
		work: func(m *cpar.Manifest, _ *cpar.Reply) (visited, touched uint64) {
			// An opaque reply contains no counts. The server reads every record.
			for _, s := range m.Segments {
				if s.Kind == cpar.SegmentVectors {
					touched += s.Bytes
				}
			}
			return uint64(m.Records), touched
		},
		// A record takes 6 bytes in the decoded reply and 6 in the encoded
		// reply. The other 6 are for unused places in cells.
		replyBytes: func(m *cpar.Manifest, _ *cpar.Request) int64 { return (6 + 6 + 6) * int64(m.Records) },
		batch:      sealed.BatchSize,
	},
	// The server only stores and sends segments.
	cpar.SchemeLocal: {
		load: func(m *cpar.Manifest, _ shard.Range, _ [][]byte) (loadedIndex, error) {
			return func(_ context.Context, _ int, requests []*cpar.Request) ([]*cpar.Reply, error) {
				return nil, checkSchemes(requests, "it has scheme local and is searched by its owner")
			}, m.Validate()
		},
	},
}

var scored = scheme{
	load: func(m *cpar.Manifest, p shard.Range, segments [][]byte) (loadedIndex, error) {
		x, err := score.LoadShard(m, p, segments)
		return func(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error) {
			return annotateScored(ctx, x, workers, requests)
		}, err
	},
	join: func(q *cpar.Request, shards []*cpar.Reply) (*cpar.Reply, error) { return search.Join(q, shards), nil },
	work: func(_ *cpar.Manifest, r *cpar.Reply) (visited, touched uint64) {
		return uint64(r.Visited), r.Touched
	},
	replyBytes: func(m *cpar.Manifest, q *cpar.Request) int64 {
		const match = 64 // a match without its keywords
		return int64(min(uint32(q.Params.L), m.Records)) * (match + 2*int64(m.KeywordBytes))
	},
	batch: func() int64 { return MaxBatchWeight },
}

func entry(s cpar.Scheme) scheme {
	if e := schemes[s]; e.join != nil {
		return e
	}
	return scored
}

// MaxBatchWeight is the maximum weight of a batch, which is a set of requests
// that share one scan. Sixteen requests together take two to three times as long
// as one. Larger batches would gain little and delay other requests.
const MaxBatchWeight = 16

// Weight returns the share of MaxBatchWeight that a request takes in a batch.
func Weight(q *cpar.Request) int64 { return MaxBatchWeight / entry(q.Params.Scheme).batch() }

// Work returns the number of records scored for a reply and the bytes read.
func Work(m *cpar.Manifest, r *cpar.Reply) (visited, touched uint64) {
	return entry(m.Scheme).work(m, r)
}

// ReplyBytes returns an upper bound on the memory of the decoded and encoded
// replies to requests.
func ReplyBytes(m *cpar.Manifest, requests []*cpar.Request) (sum int64) {
	const fixed = 512 // a reply without its matches
	for _, q := range requests {
		sum += fixed + entry(q.Params.Scheme).replyBytes(m, q)
	}
	return sum
}

// Answers reports whether r belongs to the index of q and has the form, opaque
// or not, that the scheme of q requires.
func Answers(r *cpar.Reply, q *cpar.Request) bool {
	return r.Index == q.Index && (r.Opaque != nil) == q.Params.Scheme.Opaque()
}

// Join merges the replies of all shards to one request, in order, into one
// reply.
func Join(q *cpar.Request, shards []*cpar.Reply) (*cpar.Reply, error) {
	for _, r := range shards {
		if !Answers(r, q) {
			return nil, fmt.Errorf("joining replies: %w: one belongs to another index", cpar.ErrCorrupt)
		}
	}
	return entry(q.Params.Scheme).join(q, shards)
}

func joinSealed(q *cpar.Request, shards []*cpar.Reply) (*cpar.Reply, error) {
	var opaque [][]byte
	for _, r := range shards {
		opaque = append(opaque, r.Opaque)
	}
	b, err := lattice.JoinReplies(opaque)
	return &cpar.Reply{Index: q.Index, Opaque: b}, err
}

// A loadedIndex answers all requests, in order, or returns an error.
type loadedIndex func(ctx context.Context, workers int, requests []*cpar.Request) ([]*cpar.Reply, error)

func load(m *cpar.Manifest, p shard.Range, segments [][]byte) (loadedIndex, error) {
	e, ok := schemes[m.Scheme]
	if !ok {
		e = scored // its load operation rejects m
	}
	x, err := e.load(m, p, segments)
	if err != nil {
		return nil, fmt.Errorf("loading index %v: %w", m.ID, err)
	}
	return x, nil
}

// annotateScored answers requests to an index of scheme "cpar", "capia" or
// "ivf". The server can read the scores and returns the records with the
// smallest scores.
func annotateScored(ctx context.Context, x *score.Index, workers int, requests []*cpar.Request) ([]*cpar.Reply, error) {
	if err := checkSchemes(requests, "it has scheme "+x.Manifest.Scheme.String(), cpar.SchemeCPAR, cpar.SchemeCAPIA, cpar.SchemeIVF); err != nil {
		return nil, err
	}
	replies, err := search.Options{Workers: workers}.AnnotateBatch(ctx, x, requests)
	if err != nil {
		return nil, err
	}
	// Copy the keywords out of the index, because the index may be unloaded
	// before the reply is sent.
	for _, r := range replies {
		for i, m := range r.Matches {
			r.Matches[i].Keywords = append([]byte(nil), m.Keywords...)
		}
	}
	return replies, nil
}

// checkSchemes returns an error unless the schemes of all requests are in
// `answered`. The text `index` describes the index in the error.
func checkSchemes(requests []*cpar.Request, index string, answered ...cpar.Scheme) error {
	for i, q := range requests {
		if slices.Contains(answered, q.Params.Scheme) {
			continue
		}
		err := fmt.Errorf("%w: a request of scheme %v, which the index does not answer: %s", cpar.ErrInput, q.Params.Scheme, index)
		if len(requests) > 1 {
			err = fmt.Errorf("request %d of %d: %w", i+1, len(requests), err)
		}
		return hint.Add(err, "fetch the manifest of the index again and send a request of its scheme")
	}
	return nil
}

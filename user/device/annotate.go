package device

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/progress"
	"cpar/model/feature"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/photo/decode"
	"cpar/user"
)

// A Photo is a photo to annotate: its name in messages, and a function that
// computes its features. AnnotateSeq skips a photo whose Features is nil.
type Photo struct {
	Name     string
	Features func(*user.Owner) (*feature.Vectors, error)
}

func File(path string) Photo {
	return Photo{path, func(o *user.Owner) (*feature.Vectors, error) {
		data, err := decode.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return o.Features(data)
	}}
}

func Extracted(name string, f *feature.Vectors) Photo {
	return Photo{name, func(*user.Owner) (*feature.Vectors, error) { return f, nil }}
}

type AnnotateOptions struct {
	// Params selects the search parameters. Nil selects Owner.DefaultParams.
	// Params is called again after each change of the index.
	Params  func(*Index) (cpar.Params, error)
	Ranking user.Ranking
	// AllCells requests every cell (hidden group of records) of an index with
	// cells. The cloud sees this choice.
	AllCells bool
	// Sending, if not nil, receives each request before it is sent, with the
	// number of its photo.
	Sending func(number int, q *cpar.Request) error
	// Progress receives the number of finished photos, never names or outcomes.
	Progress progress.Func
}

type Annotated struct {
	Photo    string
	Number   int // position among the photos passed
	Keywords []rank.Keyword
	Near     []rank.Neighbour // nearest first
	Err      error
	Sent     int // bytes sent
	Received int
	Visited  uint32 // records scored
	Touched  uint64 // bytes of ciphertext read to score them
	Took     Took
	// Pending holds the owner's secrets for reading the reply.
	Pending *user.Pending
}

// Took holds the duration of each step. Field Answer is the time for a batch,
// divided by its number of requests.
type Took struct{ Features, Vector, Request, Answer, Read time.Duration }

// Annotate turns photos into keywords:
//
//	photo ─▶ features ─▶ vector ─▶ request ║─▶ scores ─▶ reply ║─▶ keywords
//	         device                        ║      cloud        ║   device
//
// If the cloud fails or ctx ends, Annotate returns an error and the results
// obtained so far. Results report failures of single photos. No result is
// reported before all requests are sent. Otherwise a user who stopped after a
// rejected reply would reveal the rejection to the cloud.
func (x *Index) Annotate(ctx context.Context, photos []Photo, w AnnotateOptions) ([]Annotated, error) {
	var all []Annotated
	for some, err := range x.AnnotateSeq(ctx, slices.Values(photos), w) {
		all = append(all, some...)
		w.Progress.Report("annotate", len(all), len(photos))
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// maxPassed bounds the photos taken for one batch, in multiples of the batch
// size. Most of them may need no request.
const maxPassed = 4

// AnnotateSeq annotates photos as they arrive and yields the results of one
// batch at a time. Photos without Features have no result. The first error ends
// the sequence and is yielded together with the last results. AnnotateSeq does
// not report progress.
func (x *Index) AnnotateSeq(ctx context.Context, photos iter.Seq[Photo], w AnnotateOptions) iter.Seq2[[]Annotated, error] {
	return func(yield func([]Annotated, error) bool) {
		var group []numbered
		taken, first := 0, 0
		flush := func() bool {
			if err := context.Cause(ctx); err != nil {
				yield(nil, err)
				return false
			}
			some, err := x.annotateGroup(ctx, group, w)
			group, first = nil, taken
			return yield(some, err) && err == nil
		}
		for photo := range photos {
			size := x.Batch()
			if w.AllCells {
				size = max(1, size*x.Asked()/user.MaxCells)
			}
			if photo.Features != nil {
				group = append(group, numbered{photo, taken})
			}
			taken++
			if (len(group) >= size || taken-first >= maxPassed*size) && !flush() {
				return
			}
		}
		if taken > first {
			flush()
		}
	}
}

type numbered struct {
	Photo
	number int
}

// annotateGroup annotates the photos of one batch.
//
// The replies are decrypted at the end, so a cloud learns nothing by altering one.
func (x *Index) annotateGroup(ctx context.Context, photos []numbered, w AnnotateOptions) ([]Annotated, error) {
	if len(photos) == 0 {
		return nil, nil
	}
	var all []*photoRequest
	err := x.untilSettled(ctx, func() (worse bool, err error) {
		next, err := x.askOnce(ctx, photos, w)
		if err != nil && len(next) < len(all) {
			return true, err
		}
		for i := range min(len(next), len(all)) {
			next[i].Sent += all[i].Sent
			next[i].Received += all[i].Received
		}
		all = next
		return false, err
	})
	done := make([]Annotated, len(all))
	for i, a := range all {
		if a.Err == nil {
			a.Err = a.read(w.Ranking)
		}
		done[i] = a.Annotated
	}
	return done, err
}

// untilSettled calls ask, which sends a batch of requests for the open generation.
//
// The segments that decrypt replies belong to one generation of the index.
// Therefore untilSettled fetches the manifest again after each batch, and
// repeats the batch after an update by another device. It stops if a repetition
// has fewer replies (result worse). Apart from that, the manifest alone
// determines whether a batch is repeated.
func (x *Index) untilSettled(ctx context.Context, ask func() (worse bool, err error)) error {
	repetitions := 2 // at most, if the index keeps changing
	if x.opener == nil || !x.Scheme().CloudSearches() || len(x.Needs(x.Manifest)) == 0 {
		repetitions = 0
	}
	_, err := ask()
	for range repetitions {
		moved, e := x.reopenIfMoved(ctx)
		if e != nil || !moved {
			return cmp.Or(err, e)
		}
		worse, e := ask()
		if err = e; worse {
			break
		}
	}
	return err
}

// reopenIfMoved opens the cloud's current generation if it differs from the
// open generation. Result `moved` reports whether the generations differ.
func (x *Index) reopenIfMoved(ctx context.Context) (moved bool, err error) {
	m, err := x.opener.cloud.Manifest(ctx, x.Manifest.ID)
	if err != nil || digestOf(m) == digestOf(x.Manifest) {
		// If the manifest is unavailable, the next request will fail too.
		return false, nil
	}
	return true, x.openRetrying(ctx, x.Manifest.ID)
}

// askOnce sends requests for the open generation. It returns the photos that
// have a reply or failed, even if it also returns an error.
func (x *Index) askOnce(ctx context.Context, photos []numbered, w AnnotateOptions) ([]*photoRequest, error) {
	params := x.DefaultParams()
	if w.Params != nil {
		var err error
		if params, err = w.Params(x); err != nil {
			return nil, err
		}
	}
	var all, asked []*photoRequest
	for _, photo := range photos {
		a := &photoRequest{Annotated: Annotated{Photo: photo.Name, Number: photo.number}, in: x.Owner, records: x.Manifest.Records}
		a.Err = x.prepare(a, photo.Photo, params, w)
		if all = append(all, a); a.Err == nil && a.request != nil {
			asked = append(append(asked, a), a.rest...)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	err := x.ask(ctx, asked)
	unasked := func(a *photoRequest) bool { return a.Err == nil && a.request != nil && a.reply == nil } // an error ended the batch before its reply
	all = slices.DeleteFunc(all, func(a *photoRequest) bool { return unasked(a) || slices.ContainsFunc(a.rest, unasked) })
	for _, a := range all {
		for _, r := range a.rest {
			a.Sent, a.Received = a.Sent+r.Sent, a.Received+r.Received
			a.Err = cmp.Or(a.Err, r.Err)
		}
	}
	return all, err
}

type photoRequest struct {
	Annotated
	in      *user.Owner   // the owner of the generation that was requested
	records uint32        // records in that generation
	guess   *rank.Guess   // keywords guessed from the photo's own vector, or nil
	request *cpar.Request // nil if nothing is sent
	reply   *cpar.Reply
	// rest holds the requests to further cells.
	rest       []*photoRequest
	neighbours int // number of neighbours wanted, in all cells together
}

func (x *Index) prepare(a *photoRequest, photo Photo, params cpar.Params, w AnnotateOptions) error {
	begun := time.Now()
	lap := func(to *time.Duration) {
		*to = time.Since(begun)
		begun = time.Now()
	}
	features, err := photo.Features(x.Owner)
	if err != nil {
		return err
	}
	lap(&a.Took.Features)
	v, err := x.Vector(features)
	if err != nil {
		return err
	}
	lap(&a.Took.Vector)
	a.guess = v.Guess
	if err := x.request(a, v, params, w.AllCells); err != nil {
		return err
	}
	lap(&a.Took.Request)
	for _, one := range append([]*photoRequest{a}, a.rest...) {
		if one.request != nil && w.Sending != nil {
			if err := w.Sending(a.Number, one.request); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *Index) request(a *photoRequest, v *vector.Vector, params cpar.Params, exact bool) (err error) {
	a.neighbours = int(params.L)
	pending, requests, err := x.Requests(v, params, exact)
	if err != nil {
		return err
	}
	a.Pending, a.request = pending[0], requests[0]
	for i := range requests[1:] {
		a.rest = append(a.rest, &photoRequest{Annotated: Annotated{Pending: pending[i+1]}, request: requests[i+1]})
	}
	return nil
}

// read decrypts a reply and ranks its keywords. If it rejects a reply, only
// this photo fails, and the cloud does not learn of the failure.
func (a *photoRequest) read(ranking user.Ranking) (err error) {
	begun := time.Now()
	a.Visited = a.records // unless the reply states another number
	if a.reply != nil && a.reply.Visited > 0 {
		a.Visited, a.Touched = a.reply.Visited, a.reply.Touched
	}
	a.Near, err = a.Pending.Neighbours(a.reply)
	for _, r := range a.rest {
		near, e := r.Pending.Neighbours(r.reply)
		a.Near, err = user.Nearest(a.neighbours, a.Near, near), cmp.Or(err, e)
	}
	if err == nil {
		ranking.Guess = a.guess
		a.Keywords, err = a.in.Rank(a.Near, ranking)
		for i := range a.Near {
			a.Near[i].Keywords = a.in.Vocabulary().Words(a.Near[i].Keywords)
		}
	}
	a.Took.Read = time.Since(begun)
	return err
}

// batchPhotos is the number of photos in a batch. A cloud that scans the index
// reads memory once per batch, and a batch takes one round trip.
const batchPhotos = 16

// manyRecords limits the records scored per batch if every request scans the
// whole index. Scoring them takes about two seconds.
const manyRecords = 1_000_000

// Batch returns the number of photos to request at once.
func (x *Index) Batch() int {
	if len(x.Needs(x.Manifest)) == 0 {
		return batchPhotos
	}
	return max(1, min(batchPhotos, manyRecords/int(max(1, x.Manifest.Records)))/x.Asked())
}

// ask fetches the replies. If the cloud rejects a batch, ask sends the requests
// one by one.
func (x *Index) ask(ctx context.Context, all []*photoRequest) error {
	if len(all) > 1 && !x.noBatches {
		requests := make([]*cpar.Request, len(all))
		for i, a := range all {
			requests[i] = a.request
		}
		begun := time.Now()
		replies, stats, err := x.answers.AnnotateBatch(ctx, requests)
		switch {
		case err == nil:
			share := time.Since(begun) / time.Duration(len(all))
			for i, a := range all {
				a.reply, a.Took.Answer = replies[i], share
				a.Sent, a.Received = stats[i].Sent, stats[i].Received
			}
			return nil
		case errors.Is(err, cpar.ErrCloud) || ctx.Err() != nil:
			return err
		}
		x.noBatches = errors.Is(err, cparhttp.ErrNotFound)
	}
	for _, a := range all {
		begun := time.Now()
		reply, stats, err := x.answers.Annotate(ctx, a.request)
		if errors.Is(err, cpar.ErrCloud) || err != nil && ctx.Err() != nil {
			return err
		}
		a.reply, a.Err, a.Took.Answer = reply, err, time.Since(begun)
		a.Sent, a.Received = stats.Sent, stats.Received
	}
	return nil
}

package device

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"cpar"
	"cpar/internal/progress"
	"cpar/model/feature"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/photo/decode"
	"cpar/user"
)

// A Photo is a photo to annotate: its name in messages, and a function that
// returns its features. AnnotateSeq passes over a photo without Features.
type Photo struct {
	Name     string
	Features func(*user.Owner) (*feature.Vectors, error)
}

// File is the photo in a file.
func File(path string) Photo {
	return Photo{path, func(o *user.Owner) (*feature.Vectors, error) {
		data, err := decode.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return o.Features(data)
	}}
}

// Extracted is a photo whose features were extracted before.
func Extracted(name string, f *feature.Vectors) Photo {
	return Photo{name, func(*user.Owner) (*feature.Vectors, error) { return f, nil }}
}

// AnnotateOptions configure how photos are annotated.
type AnnotateOptions struct {
	// Params makes the search of an index; nil for Owner.DefaultParams. It is called
	// again when the index has changed.
	Params  func(*Index) (cpar.Params, error)
	Ranking user.Ranking
	// Exact asks all clusters of an index that has some, which the cloud sees.
	AllCells bool
	// Sending, if not nil, is told of every request before it is sent; number counts
	// the photos.
	Sending func(number int, q *cpar.Request) error
	// Progress is told how many photos are done, never which nor how they fared.
	Progress progress.Func
}

// Annotated is one photo at the end of its way, or what went wrong with it.
type Annotated struct {
	Photo    string
	Number   int // of the photo among those passed, from 0
	Keywords []rank.Keyword
	Near     []rank.Neighbour // nearest first
	Err      error
	Sent     int // bytes
	Received int
	Visited  uint32 // records scored
	Touched  uint64 // bytes of ciphertext read to score them
	Took     Took
	// Pending is what was kept of the request.
	Pending *user.Pending
}

// Took is how long each step took. Answer is, of several requests that were sent
// together, this one's share.
type Took struct{ Features, Vector, Request, Answer, Read time.Duration }

// Annotate takes photos the whole way:
//
//	photo ─▶ features ─▶ vector ─▶ request ║─▶ scores ─▶ reply ║─▶ keywords
//	         the owner's machine           ║     the cloud     ║  the owner's machine
//
// An error of its own is the cloud's or the person's, not a photo's; what was done
// until then is returned with it. No photo's fate is told before the last was asked
// about: a person who saw a reply refused and stopped would tell the cloud.
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

// maxPassed bounds a group, in batches, where most of its photos need no
// request.
const maxPassed = 4

// AnnotateSeq annotates photos as they arrive and yields the results of one
// batch of requests at a time, with every photo taken since the batch before.
// Photos without Features are taken and have no result. The first error is
// yielded with the results that precede it and ends the sequence, because the
// following photos would fail as well. AnnotateSeq does not report progress.
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
				size = max(1, size/user.MaxCells)
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
// What is held at home, to read replies with, belongs to one state of the index. So
// the cloud is asked afterwards whether another device has updated the index
// meanwhile; then the new state is fetched and everything asked anew, with new
// requests. What the cloud is asked depends on its manifest alone, never on whether
// a reply could be read, nor on how long that took: one that it has altered must not be
// answered by another behaviour. So replies are read when all this is over.
func (x *Index) annotateGroup(ctx context.Context, photos []numbered, w AnnotateOptions) ([]Annotated, error) {
	if len(photos) == 0 {
		return nil, nil
	}
	all, err := x.askOnce(ctx, photos, w)
	for range x.tries() {
		moved, e := x.reopenIfMoved(ctx)
		if e != nil || !moved {
			err = cmp.Or(err, e)
			break
		}
		next, e := x.askOnce(ctx, photos, w)
		if e != nil && len(next) < len(all) {
			err = e
			break
		}
		for i := range min(len(next), len(all)) {
			next[i].Sent += all[i].Sent
			next[i].Received += all[i].Received
		}
		all, err = next, e
	}
	done := make([]Annotated, len(all))
	for i, a := range all {
		if a.Err == nil {
			a.Err = a.read(w.Ranking)
		}
		done[i] = a.Annotated
	}
	return done, err
}

// tries is how often photos are asked about once more while somebody updates the
// index.
func (x *Index) tries() int {
	if x.opener == nil || !x.Scheme().CloudSearches() || len(x.Needs(x.Manifest)) == 0 {
		return 0
	}
	return 2
}

// reopenIfMoved reports whether the index at the cloud is in another state than the one
// that was opened, and opens that.
func (x *Index) reopenIfMoved(ctx context.Context) (moved bool, err error) {
	m, err := x.opener.cloud.Manifest(ctx, x.Manifest.ID)
	if err != nil || digestOf(m) == digestOf(x.Manifest) {
		// A cloud that cannot say it will not answer the next request either.
		return false, nil
	}
	return true, x.openRetrying(ctx, x.Manifest.ID)
}

// askOnce asks about photos in the state of the index that is open. What is returned
// beside an error are the photos whose replies came, or that failed before.
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
	unasked := func(a *photoRequest) bool { return a.Err == nil && a.request != nil && a.reply == nil } // an error ended the asking
	all = slices.DeleteFunc(all, func(a *photoRequest) bool { return unasked(a) || slices.ContainsFunc(a.rest, unasked) })
	for _, a := range all {
		for _, r := range a.rest {
			a.Sent, a.Received = a.Sent+r.Sent, a.Received+r.Received
			a.Err = cmp.Or(a.Err, r.Err)
		}
	}
	return all, err
}

// asking is one photo on its way.
type photoRequest struct {
	Annotated
	in      *user.Owner   // the state that was asked
	records uint32        // and how many records that has
	guess   *rank.Guess   // of the photo's keywords, where the profile has one
	request *cpar.Request // nil where nothing is asked
	reply   *cpar.Reply
	// rest are the requests to further clusters, neighbours how many are wanted of all.
	rest       []*photoRequest
	neighbours int
}

// prepare makes the request of a photo.
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

// request makes the request about a vector, or all of them.
func (x *Index) request(a *photoRequest, v *vector.Vector, params cpar.Params, exact bool) (err error) {
	a.neighbours = int(params.L)
	if !exact {
		a.Pending, a.request, err = x.RequestVector(v, params)
		return err
	}
	pending, requests, err := x.RequestAll(v, params)
	if err != nil {
		return err
	}
	a.Pending, a.request = pending[0], requests[0]
	for i := range requests[1:] {
		a.rest = append(a.rest, &photoRequest{Annotated: Annotated{Pending: pending[i+1]}, request: requests[i+1]})
	}
	return nil
}

// read decrypts a reply and ranks its keywords. A reply that is refused is the
// failure of this photo: the others are asked about all the same, so that the cloud
// does not learn of it.
func (a *photoRequest) read(ranking user.Ranking) (err error) {
	begun := time.Now()
	a.Visited = a.records // where the reply need not say
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
	}
	a.Took.Read = time.Since(begun)
	return err
}

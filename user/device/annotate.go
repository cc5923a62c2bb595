package device

import (
	"cmp"
	"context"
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

// A Photo is a photo to be annotated: its name for messages, and where its features
// come from.
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

// A Walk says how photos are annotated.
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
	for len(all) < len(photos) {
		size := x.Batch()
		if w.AllCells {
			size = max(1, size/user.MaxCells)
		}
		group := photos[len(all):min(len(all)+size, len(photos))]
		some, err := x.annotateGroup(ctx, group, len(all), w)
		all = append(all, some...)
		w.Progress.Report("annotate", len(all), len(photos))
		if err != nil {
			return all, err // the next photos would fare no better
		}
	}
	return all, nil
}

// annotateGroup takes some photos the whole way; number counts from the first photo of the walk.
//
// What is held at home, to read replies with, belongs to one state of the index. So
// the cloud is asked afterwards whether another device has updated the index
// meanwhile; then the new state is fetched and everything asked anew, with new
// requests. What the cloud is asked depends on its manifest alone, never on whether
// a reply could be read, nor on how long that took: one that it has altered must not be
// answered by another behaviour. So replies are read when all this is over.
func (x *Index) annotateGroup(ctx context.Context, photos []Photo, number int, w AnnotateOptions) ([]Annotated, error) {
	all, err := x.askOnce(ctx, photos, number, w)
	for range x.tries() {
		moved, e := x.reopenIfMoved(ctx)
		if e != nil || !moved {
			err = cmp.Or(err, e)
			break
		}
		next, e := x.askOnce(ctx, photos, number, w)
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
func (x *Index) askOnce(ctx context.Context, photos []Photo, number int, w AnnotateOptions) ([]*photoRequest, error) {
	params := x.DefaultParams()
	if w.Params != nil {
		var err error
		if params, err = w.Params(x); err != nil {
			return nil, err
		}
	}
	var all, asked []*photoRequest
	for i, photo := range photos {
		a := &photoRequest{Annotated: Annotated{Photo: photo.Name}, in: x.Owner, records: x.Manifest.Records}
		a.Err = x.prepare(a, photo, params, number+i, w)
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
func (x *Index) prepare(a *photoRequest, photo Photo, params cpar.Params, number int, w AnnotateOptions) error {
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
			if err := w.Sending(number, one.request); err != nil {
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

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/user"
	"cpar/user/feature"
	"cpar/user/picture"
)

// together is how many photos are asked about at once: the cloud then reads its
// memory once for all of them where it scans, and the wait for a reply is one.
const together = 16

// manySealed is how many records are scored for photos asked about at once by
// scheme sealed, which reads all of its memory for each: about two seconds' worth.
const manySealed = 1_000_000

// together is how many photos are asked about at once.
func (w *walk) together() int {
	if w.params.Scheme != cpar.SchemeSealed {
		return together
	}
	return max(1, min(together, manySealed/int(max(1, w.records()))))
}

// A walk takes photos from their features to their keywords, some at a time.
type walk struct {
	flags  *annotateFlags
	client *cparhttp.Client
	key    *user.Key
	// owner and manifest are of the state of the index that is asked.
	owner    *user.Owner
	manifest *cpar.Manifest
	params   cpar.Params
	// alone is set when the cloud does not take several requests at once.
	alone bool
}

// records is how many a search that visits all of them visits.
func (w *walk) records() uint32 { return w.manifest.Records }

// A photoWalk is one photo on its way, or the error that ended it.
type photoWalk struct {
	annotated
	pending *user.Pending
	request *cpar.Request // nil where nothing is asked (scheme local)
	reply   *cpar.Reply
	err     error
}

// tries is how often photos are asked about while somebody updates the index.
const tries = 3

// annotate takes photos the whole way; number is that of the first. An error of
// its own is the cloud's or the person's, not a photo's; what was done until then
// is returned with it.
//
// Replies of scheme sealed are read with what was fetched of one state of the
// index. So the cloud is asked after them whether another device has updated it
// meanwhile; then the new state is fetched and everything asked anew, with new
// requests. What the cloud is asked depends on its manifest alone, never on
// whether a reply could be read: one that it has altered must not be answered
// by another behaviour.
func (w *walk) annotate(ctx context.Context, photos []string, number int) ([]photoWalk, error) {
	all, err := w.once(ctx, photos, number)
	if w.params.Scheme != cpar.SchemeSealed {
		return all, err
	}
	for range tries - 1 {
		moved, e := w.follow(ctx)
		if e != nil {
			return all, cmp.Or(err, e)
		}
		if !moved {
			break
		}
		next, e := w.once(ctx, photos, number)
		if e != nil && len(next) < len(all) {
			return all, e
		}
		for i := range min(len(next), len(all)) {
			next[i].Sent += all[i].Sent
			next[i].Received += all[i].Received
		}
		all, err = next, e
	}
	return all, err
}

// follow reports whether the index at the cloud is in another state than the one
// that was opened, and opens that.
func (w *walk) follow(ctx context.Context) (moved bool, err error) {
	m, err := w.client.Manifest(ctx, w.manifest.ID)
	if err != nil || digestOf(m) == digestOf(w.manifest) {
		// A cloud that cannot say it will not answer the next request either.
		return false, nil
	}
	o, m, _, err := openHeld(ctx, w.client, w.key, w.manifest.ID, w.flags.ready, nil)
	if err != nil {
		return false, err
	}
	params, err := w.flags.params(o, m)
	if err != nil {
		return false, err
	}
	w.owner, w.manifest, w.params = o, m, params
	return true, nil
}

// once asks about photos in the state of the index that is open. What is returned
// beside an error are the photos that were done with.
func (w *walk) once(ctx context.Context, photos []string, number int) ([]photoWalk, error) {
	all := make([]photoWalk, len(photos))
	var asking []*photoWalk
	for i, photo := range photos {
		all[i].Photo = photo
		if all[i].err = w.prepare(&all[i], number+i); all[i].err == nil && all[i].request != nil {
			asking = append(asking, &all[i])
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	err := w.ask(ctx, asking)
	for _, p := range asking {
		if p.reply != nil {
			w.read(p)
		}
		if p.err != nil {
			p.err = fmt.Errorf("%s: %w", p.Photo, p.err)
		}
	}
	return slices.DeleteFunc(all, func(p photoWalk) bool { return p.err == nil && p.request != nil && p.reply == nil }), err
}

// read decrypts a reply. One that is refused is the failure of this photo: the
// others are asked about all the same, so that the cloud does not learn of it.
func (w *walk) read(p *photoWalk) {
	p.Visited, p.Touched = p.reply.Visited, p.reply.Touched
	if w.params.Scheme == cpar.SchemeSealed {
		p.Visited = w.records() // which the reply need not say
	}
	near, err := p.pending.Neighbours(p.reply)
	if err == nil {
		p.Keywords, err = w.owner.Rank(near, w.flags.ranking)
	}
	p.err = err
}

// prepare makes the request of a photo.
func (w *walk) prepare(p *photoWalk, number int) error {
	data, err := picture.ReadFile(p.Photo)
	if err != nil {
		return err
	}
	features, err := w.owner.Features(data)
	if err == nil && w.params.Scheme == cpar.SchemeLocal {
		return w.search(p, features)
	}
	if err == nil {
		p.pending, p.request, err = w.owner.Request(features, w.params)
	}
	if err == nil && w.flags.saveRequests != "" {
		err = saveRequest(w.flags.saveRequests, number, p.request)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Photo, err)
	}
	return nil
}

// search finds the keywords of a photo at home.
func (w *walk) search(p *photoWalk, features *feature.Vectors) error {
	near, err := w.owner.Nearest(features, int(w.params.L))
	if err != nil {
		return fmt.Errorf("%s: %w", p.Photo, err)
	}
	p.Visited, p.Keywords = w.records(), nil
	p.Keywords, err = w.owner.Rank(near, w.flags.ranking)
	return err
}

// ask gets the replies. Where the cloud refuses several requests at once, because
// it does not know how or because one of them is bad, each is asked alone.
func (w *walk) ask(ctx context.Context, all []*photoWalk) error {
	if len(all) > 1 && !w.alone {
		requests := make([]*cpar.Request, len(all))
		for i, p := range all {
			requests[i] = p.request
		}
		begun := time.Now()
		replies, stats, err := w.client.AnnotateBatch(ctx, requests)
		switch {
		case err == nil:
			share := milliseconds(begun) / float64(len(all))
			for i, p := range all {
				p.reply = replies[i]
				p.Sent, p.Received, p.CloudMS = stats[i].Sent, stats[i].Received, share
			}
			return nil
		case errors.Is(err, cpar.ErrCloud) || ctx.Err() != nil:
			return err
		}
		w.alone = errors.Is(err, cparhttp.ErrNotFound)
	}
	for _, p := range all {
		begun := time.Now()
		reply, stats, err := w.client.Annotate(ctx, p.request)
		if errors.Is(err, cpar.ErrCloud) || err != nil && ctx.Err() != nil {
			return err
		}
		p.reply, p.err = reply, err
		p.Sent, p.Received, p.CloudMS = stats.Sent, stats.Received, milliseconds(begun)
	}
	return nil
}

func milliseconds(begun time.Time) float64 {
	return float64(time.Since(begun).Microseconds()) / 1000
}

package library

import (
	"context"
	"slices"

	"cpar/photo"
)

// Suggest is like Annotate without an index. It sends nothing and writes only
// the words of o.Suggest.
func (l *Library) Suggest(ctx context.Context, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	return l.Annotate(ctx, nil, list, o, each)
}

// suggest returns prepared photos in batches, without sending requests.
func (w *annotator) suggest(ctx context.Context, todo []*job) (batches []batch, err error) {
	for some := range slices.Chunk(todo, 16) {
		b := batch{want: w.want}
		for _, j := range some {
			if err := w.prepare(ctx, j); err != nil {
				w.fail(j, err)
			} else {
				b.jobs = append(b.jobs, j)
			}
		}
		switch {
		case ctx.Err() != nil:
			return batches, context.Cause(ctx)
		case w.tooMany():
			return batches, ErrStopped
		}
		batches = append(batches, b)
	}
	return batches, nil
}

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

// suggest returns groups of photos without asking an index.
func (w *annotator) suggest(ctx context.Context, todo []*job) (groups []group, err error) {
	for some := range slices.Chunk(todo, 16) {
		g := group{want: w.want}
		for _, j := range some {
			if err := w.prepare(ctx, j); err != nil {
				w.fail(j, err)
			} else {
				g.jobs = append(g.jobs, j)
			}
		}
		switch {
		case ctx.Err() != nil:
			return groups, context.Cause(ctx)
		case w.tooMany():
			return groups, ErrStopped
		}
		groups = append(groups, g)
	}
	return groups, nil
}

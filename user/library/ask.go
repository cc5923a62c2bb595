package library

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"cpar"
	"cpar/user"
	"cpar/user/device"
)

// ask passes prepared photos to the index and returns the answered photos of
// each batch.
func (w *annotator) ask(ctx context.Context, todo []*job) (groups []group, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel(nil)
	var queue []*job // taken by the index since the last batch
	first, failed := 0, 0
	photos := func(yield func(device.Photo) bool) {
		for j := range w.prepared(ctx, todo, 4*w.x.Batch(), &workers) {
			if j.err != nil {
				w.fail(j, j.err)
				failed++
			}
			if w.tooMany() {
				cancel(ErrStopped)
				break
			}
			if j.err != nil {
				continue
			}
			queue = append(queue, j)
			if !yield(j.features) {
				return
			}
		}
		if ctx.Err() != nil {
			queue = nil // not asked about
		}
	}
	o := device.AnnotateOptions{Params: w.o.Params, AllCells: w.o.AllCells,
		Ranking: user.Ranking{Ranker: w.o.Ranker, Rare: w.o.Rare, MaxKeywords: w.o.asked()}}
	if tell := w.o.Sending; tell != nil {
		o.Sending = func(i int, q *cpar.Request) error { return tell(queue[i-first].at, q) }
	}
	for some, err := range w.x.AnnotateSeq(ctx, photos, o) {
		if len(queue) > 0 {
			answered, e := w.answered(queue, first, some)
			groups, err = append(groups, answered), cmp.Or(err, e)
			first += len(queue)
			queue = nil
			w.o.Progress.Report("annotate", first+failed, len(todo))
		}
		if err != nil {
			return groups, err
		}
	}
	if ctx.Err() != nil {
		return groups, context.Cause(ctx)
	}
	return groups, nil
}

// answered stores the answers to one batch and returns the jobs that have one.
// An error may have ended the batch before. first is the number of queue[0].
func (w *annotator) answered(queue []*job, first int, some []device.Annotated) (group, error) {
	for _, a := range some {
		j := queue[a.Number-first]
		if a.Err != nil {
			w.fail(j, a.Err)
		} else {
			known := newAnswer(a.Keywords, a.Near, w.o.Everything)
			j.answer, j.fresh = &known, true
		}
		a.Pending, a.Keywords, a.Near = nil, nil, nil
		w.results[j.at].Asked = a
	}
	// The index may have been reopened, so take the key of the generation that
	// answered.
	key, err := keyOf(w.x, w.o)
	out := group{want: w.wanted(key)}
	for _, j := range queue {
		j.features = device.Photo{}
		if j.answer != nil && j.fresh {
			j.key = key
		}
		if j.answer != nil {
			out.jobs = append(out.jobs, j)
		}
	}
	return out, cmp.Or(err, w.store(out.jobs))
}

// store records the answers to one batch. A failure is reported after the last
// request, because it may depend on the keywords.
func (w *annotator) store(jobs []*job) error {
	if w.l == nil {
		return nil
	}
	var records []record
	for _, j := range jobs {
		if j.fresh {
			b, err := json.Marshal(j.answer)
			if err != nil {
				return fmt.Errorf("encoding an answer: %w", err)
			}
			records = append(records, record{Asked: &asked{j.content, j.key, b}})
		}
	}
	if err := w.l.remember(records...); err != nil {
		w.wrong = cmp.Or(w.wrong, err)
		return nil
	}
	for _, j := range jobs {
		j.answer = nil // frees memory
	}
	return nil
}

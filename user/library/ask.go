package library

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"cpar"
	"cpar/user"
	"cpar/user/device"
)

// A question is a photo, or a frame of a video, for which keywords are
// requested. Its `number`, for Options.Sending, is the photo's position in the
// list. Further frames have numbers above all positions.
type question struct {
	*job
	number int
}

// ask passes prepared photos to the index and returns the answered photos,
// batch by batch.
func (w *annotator) ask(ctx context.Context, todo []*job) (batches []batch, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel(nil)
	var queue []question // questions passed to the index since the last batch
	first, taken, failed, more := 0, 0, 0, len(w.list)
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
			taken++
			for n, frame := range j.frames {
				q := question{j, j.at}
				if n > 0 {
					q.number, more = more, more+1
				}
				queue = append(queue, q)
				if !yield(frame) {
					return
				}
			}
		}
		if ctx.Err() != nil {
			queue = nil // these questions are not sent
		}
	}
	words := wordsAskedOf
	if w.o.Everything {
		words = math.MaxInt
	}
	o := device.AnnotateOptions{Params: w.o.Params, AllCells: w.o.AllCells,
		Ranking: user.Ranking{Ranker: w.o.Ranker, Rare: w.o.Rare, MaxKeywords: words}}
	if tell := w.o.Sending; tell != nil {
		o.Sending = func(i int, q *cpar.Request) error { return tell(queue[i-first].number, q) }
	}
	for some, err := range w.x.AnnotateSeq(ctx, photos, o) {
		if len(queue) > 0 {
			answered, e := w.answered(queue, first, some)
			batches, err = append(batches, answered), cmp.Or(err, e)
			first += len(queue)
			queue = nil
			w.o.Progress.Report("annotate", taken+failed, len(todo))
		}
		if err != nil {
			return batches, err
		}
	}
	if ctx.Err() != nil {
		return batches, context.Cause(ctx)
	}
	return batches, nil
}

// answered stores the answers to one batch of requests and returns the
// answered jobs. If an error ended the batch early, some jobs have no answer.
// Parameter `first` is the number of queue[0].
//
// A video is answered once all its frames are answered, possibly in a later
// batch than the first frame.
func (w *annotator) answered(queue []question, first int, some []device.Annotated) (batch, error) {
	for _, a := range some {
		j := queue[a.Number-first].job
		if a.Err != nil && j.err == nil {
			w.fail(j, a.Err)
		}
		j.replies = append(j.replies, a)
		if len(j.replies) < len(j.frames) {
			continue
		}
		a = mergeFrames(j.replies)
		if j.replies = nil; j.err == nil {
			known := newAnswer(a.Keywords, a.Near, w.o.Everything)
			known.CutShort = w.results[j.at].CutShort
			j.answer, j.fresh = &known, true
		}
		a.Pending, a.Keywords, a.Near = nil, nil, nil
		w.results[j.at].Asked = a
	}
	// The index may have been reopened, so take the key of the generation that
	// answered.
	key, err := Key(w.x, w.o)
	out := batch{want: w.wanted(key)}
	for i, q := range queue {
		j := q.job
		if j.answer == nil || i+1 < len(queue) && queue[i+1].job == j {
			continue
		}
		if j.frames = nil; j.fresh {
			j.key = key
		}
		out.jobs = append(out.jobs, j)
	}
	return out, cmp.Or(err, w.store(out.jobs))
}

// store records the answers to one batch. Failures are reported after the last
// request, because they may depend on the keywords.
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
			w.fresh[j.content] = true
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

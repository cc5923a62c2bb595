package library

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/internal/progress"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
)

// Options say what is asked about, and what becomes of it.
type Options struct {
	// Where keywords are written; "" for nowhere. A file that can hold none gets a
	// sidecar.
	Where     metadata.Where
	Style     metadata.Style
	KeepMtime bool
	// DryRun asks and remembers the answers, and writes nothing into photos or beside
	// them: results tell what would be.
	DryRun bool
	// Again asks about photos although their answers are known.
	Again bool
	// Lean results tell of no neighbours: of many photos they would fill the memory.
	Lean bool
	// Jobs is how many photos are read at once; 0 for one a core.
	Jobs int
	// OnErrors is how many photos may be unreadable, or lie where nothing can be written,
	// before the rest is left; -1 for any number. What comes after the asking does not count.
	OnErrors int
	// MinProbability and Most are what a word must have to be told and written. An index
	// without probabilities has only Most.
	MinProbability float64
	MaxKeywords    int
	// Suggest, if not nil, gives words to write into a photo besides its keywords, which it is
	// told. Suggests names all that they depend on but the photo.
	Suggest  func(path string, keywords []rank.Keyword) ([]string, error)
	Suggests string
	// Params, AllCells and Sending are passed to the index: see
	// device.AnnotateOptions.
	Params   func(*device.Index) (cpar.Params, error)
	AllCells bool
	Sending  func(number int, q *cpar.Request) error
	// Ranker and Rare rank keywords: see user.Ranking.
	Ranker   rank.Kind
	Rare     bool
	Command  string // as the journal names the run
	Progress progress.Func
}

// A Result is what came of a photo.
type Result struct {
	Path     string
	Also     []string         // other files of the same shot
	Keywords []rank.Keyword   // that are likely enough
	Guesses  int              // how many words were not
	Near     []rank.Neighbour // that gave them, nearest first
	Added    []string         // words that were written, or would be
	Files    []string         // that were written, or would be
	Run      string           // that wrote them
	Known    bool             // the answer was known
	Finished bool             // and nothing was left to do
	// Truncated: the end of the photo is missing, and what is there was annotated. It is
	// told where the photo was read.
	CutShort bool
	// Beside: the file holds no keywords, so a sidecar does.
	Beside bool
	Err    error
	// Asked is how the cloud was asked, where it was.
	Asked device.Annotated
}

// A Summary counts photos.
type Summary struct {
	Run      string // "" where nothing was written
	Done     int    // that have an answer
	Known    int    // whose answer was known
	Written  int    // that words were written for
	Files    int    // that were written
	Keywords int
	Nothing  int // without any word that is likely enough
	Failed   int // that could not be read or written
}

// ErrStopped is the error of a walk that ended at a photo's error, as OnErrors says.
var ErrStopped = errors.New("stopped at an error, as asked")

// Annotate takes photos the whole way, and tells of each when the last has been asked
// about. An error of its own is the cloud's, the disk's or the person's, not a photo's;
// what was done until then is told of all the same.
func (l *Library) Annotate(ctx context.Context, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	release, err := l.lockShared()
	if err != nil {
		return Summary{}, err
	}
	defer release()
	return annotate(ctx, l, x, list, o, each)
}

// Ask is Annotate where nothing is remembered, known or written.
func Ask(ctx context.Context, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	o.Where = ""
	return annotate(ctx, nil, x, list, o, each)
}

func annotate(ctx context.Context, l *Library, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	if o.Jobs < 1 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	key, err := keyOf(x, o)
	if err != nil {
		return Summary{}, err
	}
	w := &annotator{l: l, x: x, owner: x.Owner, o: o, list: list, key: key, told: make([]bool, len(list)), results: make([]Result, len(list))}
	w.want = w.wanted(key)
	err = w.annotateAll(ctx)
	for i := range w.results {
		if w.told[i] {
			w.sum.count(&w.results[i])
			each(w.results[i])
		}
	}
	if w.began {
		w.sum.Run = w.run
	}
	return w.sum, err
}

func (s *Summary) count(r *Result) {
	if r.Err != nil {
		s.Failed++
		return
	}
	s.Done++
	if r.Known {
		s.Known++
	}
	if len(r.Keywords) == 0 {
		s.Nothing++
	}
	if len(r.Files) > 0 {
		s.Written++
	}
	s.Files += len(r.Files)
	s.Keywords += len(r.Added)
}

// keyOf names the state of an index and the way of asking it: whatever could change an
// answer.
func keyOf(x *device.Index, o Options) (string, error) {
	params := x.DefaultParams()
	if o.Params != nil {
		var err error
		if params, err = o.Params(x); err != nil {
			return "", err
		}
	}
	state := x.Digest()
	return shortDigest(x.Origin(), state, params, o.Ranker, o.Rare), nil
}

// wanted names what is to be done for a photo whose answers have a key.
func (w *annotator) wanted(key string) string {
	if w.o.Where == "" {
		return ""
	}
	parts := []any{key, w.o.Where, w.o.Style, w.o.MinProbability, w.o.MaxKeywords}
	if w.o.Suggest != nil {
		parts = append(parts, w.o.Suggests)
	}
	return shortDigest(parts...)
}

func shortDigest(parts ...any) string {
	d := sha256.Sum256(fmt.Appendf(nil, "%q", fmt.Sprintf("%#v", parts)))
	return hex.EncodeToString(d[:8])
}

// A walk is one call of Annotate.
type annotator struct {
	l         *Library // nil where nothing is remembered
	x         *device.Index
	owner     *user.Owner // of x as it was at first, for the features
	o         Options
	list      []photo.Photo
	key, want string

	results []Result
	told    []bool // which of them are
	sum     Summary
	failed  atomic.Int64 // photos that could not be read

	run     string   // drawn for the first words
	began   bool     // the log has the run: something was written
	confirm []record // done, and not yet in the log
}

// A job is a photo on its way.
type job struct {
	at       int
	path     string // absolute
	stat     stat
	content  digest
	seen     bool // content is known without reading
	features device.Photo
	answer   *answer
	fresh    bool // the answer is not in the log
	ready    chan struct{}
	err      error
}

// A group is asked about at once, in one state of the index.
type group struct {
	jobs []*job
	key  string
}

func (w *annotator) annotateAll(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo, err := w.look(ctx)
	if err != nil {
		return err
	}
	groups := make(chan group, 2)
	var writer sync.WaitGroup
	var wrong error
	writer.Go(func() {
		for g := range groups {
			if wrong != nil {
				continue // drained
			}
			if wrong = w.finish(g); wrong != nil {
				cancel(wrong)
			}
		}
		if wrong == nil {
			wrong = w.flush()
		}
	})
	err = w.ask(ctx, todo, groups)
	close(groups)
	writer.Wait()
	if wrong != nil {
		return wrong
	}
	return err
}

// fail notes what is wrong with a photo.
func (w *annotator) fail(j *job, err error) {
	w.failLate(j, err)
	w.failed.Add(1)
}

// failLate notes what is wrong with a photo whose answer came. It does not count for
// OnErrors: what cannot be written now is known the next time, without asking.
func (w *annotator) failLate(j *job, err error) {
	j.err = err
	w.results[j.at].Err = err
	w.told[j.at] = true
}

func (w *annotator) tooMany() bool { return w.o.OnErrors >= 0 && w.failed.Load() > int64(w.o.OnErrors) }

// ask passes prepared photos to the index, which forms the batches, and sends the
// answered photos of each batch to groups.
func (w *annotator) ask(ctx context.Context, todo []*job, groups chan<- group) error {
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
		Ranking: user.Ranking{Ranker: w.o.Ranker, Rare: w.o.Rare, MaxKeywords: wordsAskedOf}}
	if tell := w.o.Sending; tell != nil {
		o.Sending = func(i int, q *cpar.Request) error { return tell(queue[i-first].at, q) }
	}
	for some, err := range w.x.AnnotateSeq(ctx, photos, o) {
		if len(queue) > 0 {
			answered, e := w.answered(queue, first, some)
			groups <- answered
			err = cmp.Or(err, e)
			first += len(queue)
			queue = nil
			w.o.Progress.Report("annotate", first+failed, len(todo))
		}
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// answered stores the answers to one batch and returns the jobs that have an
// answer. A job has none if an error ended the batch before its reply arrived.
// first is the number of queue[0].
func (w *annotator) answered(queue []*job, first int, some []device.Annotated) (group, error) {
	for _, a := range some {
		j := queue[a.Number-first]
		if a.Err != nil {
			w.fail(j, a.Err)
		} else {
			known := newAnswer(a.Keywords, a.Near)
			j.answer, j.fresh = &known, true
		}
		a.Pending, a.Keywords, a.Near = nil, nil, nil
		w.results[j.at].Asked = a
	}
	out := group{}
	for _, j := range queue {
		if j.answer != nil {
			out.jobs = append(out.jobs, j)
		}
		j.features = device.Photo{}
	}
	var err error
	// The index may have been opened again, so the key is that of the state that
	// answered.
	out.key, err = keyOf(w.x, w.o)
	return out, err
}

// absolute is how the log names a photo.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the photo: %w: %w", cpar.ErrInput, err)
	}
	return abs, nil
}

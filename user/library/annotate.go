package library

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// Options select what is requested and what is written.
type Options struct {
	// Where to write keywords, "" for nowhere. A file that cannot hold them
	// gets a sidecar.
	Where     metadata.Where
	Style     metadata.Style
	KeepMtime bool
	// DryRun stores answers but writes no photo and no sidecar.
	DryRun bool
	// Again ignores stored answers.
	Again bool
	// Stored sends no request. Photos without a stored answer fail.
	Stored bool
	// Lean omits neighbours from the results to save memory.
	Lean bool
	// Jobs is the number of photos read concurrently, 0 for one per core.
	Jobs int
	// OnErrors is the number of unreadable photos and unwritable folders
	// tolerated before the run stops, -1 for any number.
	OnErrors int
	// MinProbability and MaxKeywords limit the keywords shown and written.
	MinProbability float64
	MaxKeywords    int
	// Everything requests and stores all keywords of the neighbours, instead of
	// at most MostKept with at least probability LeastKept.
	Everything bool
	// Suggest, if not nil, returns further words to write into a photo.
	// Suggests identifies its configuration.
	Suggest  func(path string, keywords []rank.Keyword) ([]string, error)
	Suggests string
	// The index receives Params, AllCells and Sending (see
	// device.AnnotateOptions).
	Params   func(*device.Index) (cpar.Params, error)
	AllCells bool
	Sending  func(number int, q *cpar.Request) error
	// Ranker and Rare select the ranking (see user.Ranking).
	Ranker   rank.Kind
	Rare     bool
	Command  string // for the journal
	Progress progress.Func
}

// A Result is the outcome for one photo.
type Result struct {
	Path     string
	Also     []string         // other files of the same shot
	Keywords []rank.Keyword   // that meet the limits
	Maybe    []rank.Keyword   // the others
	Near     []rank.Neighbour // nearest first
	Added    []string         // words written, or planned
	Files    []string         // files written, or planned
	Run      string           // "" if nothing was written
	Known    bool             // from a stored answer
	Finished bool             // nothing was left to do
	// CutShort reports that the file ends early. It is known only if the file
	// was read.
	CutShort bool
	// Beside reports that the keywords are in a sidecar, because the file
	// cannot hold them.
	Beside bool
	Err    error
	// Asked is the exchange with the cloud, if there was one.
	Asked device.Annotated
}

// A Summary counts photos.
type Summary struct {
	Run      string // "" if nothing was written
	Done     int    // with an answer
	Known    int    // with a stored answer
	Written  int    // with words written
	Files    int    // files written
	Keywords int
	Nothing  int // without a likely keyword
	Failed   int // unreadable or unwritable
}

// ErrStopped ends a run with more than OnErrors failures.
var ErrStopped = errors.New("stopped at an error, as asked")

// Annotate annotates photos and passes the results to the function each once
// all requests were sent. The error is a failure of the cloud or the disk, or
// an interrupt. Failures of single photos are in their results.
func (l *Library) Annotate(ctx context.Context, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	release, err := l.lockShared()
	if err != nil {
		return Summary{}, err
	}
	defer release()
	return annotate(ctx, l, x, list, o, each)
}

// Ask is like Annotate but has no journal. It neither reads nor stores answers
// and writes no file.
func Ask(ctx context.Context, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	o.Where = ""
	return annotate(ctx, nil, x, list, o, each)
}

func annotate(ctx context.Context, l *Library, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	if o.Jobs < 1 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	w := &annotator{l: l, x: x, o: o, list: list, told: make([]bool, len(list)), results: make([]Result, len(list))}
	if x != nil {
		var err error
		if w.key, err = keyOf(x, o); err != nil {
			return Summary{}, err
		}
		w.owner = x.Owner
	}
	w.want = w.wanted(w.key)
	err := w.annotateAll(ctx)
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

// keyOf returns a digest of everything that an answer depends on besides the
// photo: the generation of the index, its parameters and the ranking.
func keyOf(x *device.Index, o Options) (string, error) {
	params := x.DefaultParams()
	if o.Params != nil {
		var err error
		if params, err = o.Params(x); err != nil {
			return "", err
		}
	}
	state := x.Digest()
	parts := []any{x.Origin(), state, params, o.Ranker, o.Rare}
	if o.Everything {
		parts = append(parts, "everything")
	}
	return shortDigest(parts...), nil
}

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

type annotator struct {
	l         *Library      // nil without a journal
	x         *device.Index // nil without an index
	owner     *user.Owner   // as first opened, for the features
	o         Options
	list      []photo.Photo
	key, want string

	results []Result
	told    []bool // told[i] is set once results[i] is final
	sum     Summary
	failed  atomic.Int64 // unreadable photos

	wrong   error    // of the journal, while asking
	run     string   // id, chosen before the first write
	began   bool     // the journal has the run
	confirm []record // done but not yet in the journal
}

type job struct {
	at       int
	path     string // absolute
	stat     stat
	content  digest
	seen     bool // content is from the journal
	features device.Photo
	answer   *answer // nil if the journal has it, under key
	key      string
	fresh    bool // from this run
	ready    chan struct{}
	err      error
}

// A group holds the jobs of one batch, answered in one generation of the index.
// want is the work that its photos no longer need once they are written.
type group struct {
	jobs []*job
	want string
}

// annotateAll sends all requests and then writes. The cloud must not learn from
// the times of requests how much was written, or that writing failed, because
// both depend on the keywords that it must not know.
func (w *annotator) annotateAll(ctx context.Context) error {
	todo, err := w.look(ctx)
	if err != nil {
		return err
	}
	ask := w.ask
	if w.x == nil {
		ask = w.suggest
	}
	groups, err := ask(ctx, todo)
	for i, g := range groups {
		if err == nil && ctx.Err() != nil { // interrupted while writing
			err = context.Cause(ctx)
			break
		}
		if err := w.finish(g); err != nil {
			return err
		}
		w.o.Progress.Report("write", i+1, len(groups))
	}
	return cmp.Or(w.wrong, w.flush(), err)
}

func (w *annotator) fail(j *job, err error) {
	w.failLate(j, err)
	w.failed.Add(1)
}

// failLate records a failure after the reply, which OnErrors does not count
// because the answer is stored.
func (w *annotator) failLate(j *job, err error) {
	j.err = err
	w.results[j.at].Err = err
	w.told[j.at] = true
}

func (w *annotator) tooMany() bool { return w.o.OnErrors >= 0 && w.failed.Load() > int64(w.o.OnErrors) }

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
// An error may have ended the batch early. first is the number of queue[0].
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

func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the photo: %w: %w", cpar.ErrInput, err)
	}
	return abs, nil
}

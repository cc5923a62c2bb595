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
	"sync/atomic"

	"cpar"
	"cpar/internal/progress"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
)

type Options struct {
	// Where is the place for keywords: the photo, a sidecar, or neither if "".
	// A file that cannot hold keywords gets a sidecar in any case.
	Where     metadata.Where
	Style     metadata.Style
	KeepMtime bool
	// DryRun stores answers but writes no photo and no sidecar.
	DryRun bool
	// Resume continues the last run if it stopped early and had the same Command.
	Resume bool
	// More is set if a later call will continue this run.
	More bool
	// Once, if set, skips photos that any run has annotated, even if the index
	// has changed or the run was undone. No content is requested twice.
	Once bool
	// Whole, if set, rejects truncated files, which may still be arriving.
	Whole bool
	// Again, if set, ignores stored answers.
	Again bool
	// Earlier holds further results of Key. Answers stored under them are
	// valid too.
	Earlier []string
	// Stored, if set, prevents requests. Photos without a stored answer then fail.
	Stored bool
	// Lean, if set, omits the field Near of results to save memory.
	Lean bool
	// Jobs is the number of photos read concurrently, 0 for one per core.
	Jobs int
	// OnErrors is the number of unreadable photos and unwritable folders
	// tolerated before the run stops, -1 for any number.
	OnErrors int
	// MinProbability and MaxKeywords limit the keywords shown and written.
	MinProbability float64
	MaxKeywords    int
	// Everything, if set, requests and stores all keywords of the neighbours,
	// without the bounds MostKept (number) and LeastKept (probability).
	Everything bool
	// Suggest, if not nil, returns further words to write into a photo.
	Suggest func(path string, keywords []rank.Keyword) ([]string, error)
	// Suggests identifies the configuration of Suggest.
	Suggests string
	// Params, AllCells and Sending are options of the index (see
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

type Result struct {
	Path     string
	Also     []string         // the photo's other files, such as raw files
	Keywords []rank.Keyword   // keywords that meet the limits
	Maybe    []rank.Keyword   // the other keywords
	Near     []rank.Neighbour // nearest first
	Added    []string         // words written or, in a dry run, planned
	Files    []string         // files written or, in a dry run, planned
	Run      string           // "" if nothing was written
	Known    bool             // the answer was already stored
	copied   bool             // the answer was stored in this run, for another photo with the same content
	Finished bool             // an earlier run had finished the photo
	Undone   bool             // Options.Once skipped the photo, and the run that annotated it was undone
	// CutShort reports that the file is truncated but could be read.
	CutShort bool
	// Beside reports that the keywords are in a sidecar, because the file
	// cannot hold them.
	Beside bool
	Err    error
	// Asked is the exchange with the cloud, if there was one.
	Asked device.Annotated
}

// A Summary counts photos unless noted otherwise.
type Summary struct {
	Run      string // "" if nothing was written
	Done     int    // photos with an answer
	Known    int    // photos whose answer was already stored
	Copies   int    // photos with the content of another photo of this run, whose answer they share
	Written  int    // photos with words written
	Files    int    // files written
	Keywords int
	Nothing  int // photos without a likely keyword
	Failed   int // unreadable or unwritable photos
}

// ErrIncomplete reports a truncated file (Options.Whole).
var ErrIncomplete = fmt.Errorf("%w: the end of the file is missing", cpar.ErrInput)

// ErrStopped ends a run with more than OnErrors failures.
var ErrStopped = errors.New("stopped at an error, as asked")

// Annotate annotates photos. After the last request, it passes every result to
// `each`. It returns an error if the cloud or the disk failed or the user
// interrupted it. Results report failures of single photos.
func (l *Library) Annotate(ctx context.Context, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	release, err := l.lockShared()
	if err != nil {
		return Summary{}, err
	}
	defer release()
	return annotate(ctx, l, x, list, o, each)
}

// Ask is like Annotate but neither reads nor stores answers and writes no file.
func Ask(ctx context.Context, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	o.Where = ""
	return annotate(ctx, nil, x, list, o, each)
}

func annotate(ctx context.Context, l *Library, x *device.Index, list []photo.Photo, o Options, each func(Result)) (Summary, error) {
	w, err := newAnnotator(l, x, list, o)
	if err != nil {
		return Summary{}, err
	}
	batches, err := w.askAll(ctx)
	return w.finishAll(ctx, batches, err, each)
}

func newAnnotator(l *Library, x *device.Index, list []photo.Photo, o Options) (*annotator, error) {
	if o.Jobs < 1 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	w := &annotator{l: l, x: x, o: o, list: list, final: make([]bool, len(list)), results: make([]Result, len(list)), fresh: map[digest]bool{}}
	if x != nil {
		var err error
		if w.key, err = Key(x, o); err != nil {
			return nil, err
		}
		w.owner = x.Owner
	}
	w.want = w.wanted(w.key)
	return w, nil
}

// askAll sends all requests and returns the answered photos. finishAll writes
// only after the last request. Otherwise the times of requests would tell the
// cloud how much was written or that writing failed. Both facts depend on the
// secret keywords.
func (w *annotator) askAll(ctx context.Context) ([]batch, error) {
	todo, err := w.look(ctx)
	if err != nil {
		return nil, err
	}
	if w.x == nil {
		return w.suggest(ctx, todo)
	}
	return w.ask(ctx, todo)
}

// finishAll writes the answers and passes every final result to `each`.
// Parameter `err` is the error that ended askAll.
func (w *annotator) finishAll(ctx context.Context, batches []batch, err error, each func(Result)) (Summary, error) {
	err = w.writeAll(ctx, batches, err)
	for i := range w.results {
		if w.final[i] {
			w.sum.count(&w.results[i])
			if w.began && len(w.results[i].Files) > 0 {
				w.sum.Run = w.run
			}
			each(w.results[i])
		}
	}
	return w.sum, err
}

func (s *Summary) count(r *Result) {
	if r.Err != nil {
		s.Failed++
		return
	}
	s.Done++
	switch {
	case r.copied:
		s.Copies++
	case r.Known:
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

// Key returns a digest of everything that an answer depends on besides the
// photo: the generation of the index, its parameters and the ranking.
func Key(x *device.Index, o Options) (string, error) {
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
	owner     *user.Owner   // owner of the index as first opened, for features
	o         Options
	list      []photo.Photo
	key, want string

	results []Result
	final   []bool // final[i] is set once results[i] is final
	sum     Summary
	failed  atomic.Int64 // unreadable photos

	wrong   error           // error of the journal during askAll
	run     string          // id, chosen before the first write
	same    string          // digest of the command (began.Same)
	resumed bool            // an earlier call began the run
	began   bool            // the journal records the run's beginning
	confirm []record        // records of finished photos, not yet in the journal
	fresh   map[digest]bool // contents answered in this run
}

type job struct {
	at      int
	path    string // absolute
	stat    stat
	content digest
	seen    bool           // content is from the journal
	frames  []device.Photo // the photo or the frames of a video, without features if the answer is known
	replies []device.Annotated
	answer  *answer // nil if the journal holds it under `key`
	key     string
	fresh   bool // answered in this run
	ready   chan struct{}
	err     error
}

// A batch holds jobs that were answered together, in one generation of the
// index. Field `want` is a digest under which the journal marks a written
// photo as finished (memory.annotated).
type batch struct {
	jobs []*job
	want string
}

func (w *annotator) writeAll(ctx context.Context, batches []batch, err error) error {
	for i, b := range batches {
		if err == nil && ctx.Err() != nil { // interrupted while writing
			err = context.Cause(ctx)
			break
		}
		if err := w.finish(b); err != nil {
			return err // the next process records that this run stopped early
		}
		w.o.Progress.Report("write", i+1, len(batches))
	}
	if !w.began && w.l != nil && w.o.Where != "" && !w.o.DryRun && !w.o.More {
		w.confirm = append(w.confirm, record{Idle: beginning("", w.o.Command, false)})
	}
	return cmp.Or(w.wrong, w.flush(err != nil || w.o.More), err)
}

func (w *annotator) fail(j *job, err error) {
	w.failLate(j, err)
	w.failed.Add(1)
}

// failLate records a failure after the reply. The failure does not count
// towards OnErrors, because the answer is stored.
func (w *annotator) failLate(j *job, err error) {
	j.err = err
	w.results[j.at].Err = err
	w.final[j.at] = true
}

func (w *annotator) tooMany() bool { return w.o.OnErrors >= 0 && w.failed.Load() > int64(w.o.OnErrors) }

func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the photo: %w: %w", cpar.ErrInput, err)
	}
	return abs, nil
}

package ui

import (
	"context"
	"fmt"
	"sync"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/rank"
	"cpar/photo/decode"
	"cpar/user/library"
	"cpar/user/vocabulary"
)

// An OwnBackend is the Backend of an owner without an index. An image network
// suggests words of the network's vocabulary, and nothing is sent.
type OwnBackend struct {
	LibraryBackend
	words func(photo []byte) ([]rank.Keyword, error)

	mu    sync.Mutex
	found map[string][]rank.Keyword // suggestions by path
}

// NewOwnBackend returns a backend that passes a photo's bytes to `words`,
// which suggests words. Suggestions have no probabilities, so only accepted
// suggestions are written. If l is nil, because there is no key, nothing can
// be written.
func NewOwnBackend(l *library.Library, words func(photo []byte) ([]rank.Keyword, error), o LibraryOptions) *OwnBackend {
	w := &OwnBackend{words: words, found: map[string][]rank.Keyword{}}
	w.library, w.o, w.also, w.chosen = l, o, map[string][]string{}, o.choices()
	w.chosen.threshold, w.chosen.right = 0, 0
	return w
}

func (w *OwnBackend) Settings() Settings {
	c := w.choices()
	return Settings{Index: "none", Scheme: "none", Protects: "nothing is sent", Profile: "none", Cloud: "none",
		Where: string(c.where), Style: string(c.style), KeepMtime: c.keepMtime, Own: true}
}

func (w *OwnBackend) Locate(context.Context) (func(content [32]byte) []uint32, error) {
	return nil, nil
}

func (w *OwnBackend) Vocabulary() []string { return nil }

func (w *OwnBackend) Rules() (*vocabulary.Vocabulary, string) {
	return nil, "A vocabulary belongs to an index, and there is none yet."
}

func (w *OwnBackend) Look(path string) (*Known, error) {
	if err := w.inside(path); err != nil {
		return nil, err
	}
	var machine []string
	if w.library != nil {
		machine = w.library.Machine(path)
	}
	known, err := lookAt(path, machine)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known.Keywords, known.Asked = w.found[path]
	return known, nil
}

func (w *OwnBackend) Annotate(ctx context.Context, paths []string) (answers []Answer, _ error) {
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return answers, err
		}
		data, err := decode.ReadFile(path)
		var words []rank.Keyword
		if err == nil {
			words, err = w.words(data)
		}
		if err == nil {
			w.mu.Lock()
			w.found[path] = words
			w.mu.Unlock()
		}
		answers = append(answers, Answer{Keywords: words, Err: err})
	}
	return answers, nil
}

func (w *OwnBackend) AnnotateData(_ context.Context, data []byte) (Answer, error) {
	words, err := w.words(data)
	return Answer{Keywords: words, Err: err}, nil
}

func (w *OwnBackend) Write(ctx context.Context, list []Change) ([]library.Result, error) {
	if w.library == nil {
		return nil, hint.Add(fmt.Errorf("writing keywords: %w: there is no key to encrypt the record of changes", cpar.ErrKey), "make a key with cpar init, and start cpar ui again")
	}
	return w.write(ctx, list, w.Look)
}

func (w *OwnBackend) Runs() ([]library.Run, error) {
	if w.library == nil {
		return nil, nil
	}
	return w.LibraryBackend.Runs()
}

func (w *OwnBackend) Find(ctx context.Context, word string) ([]string, error) {
	if w.library == nil {
		return nil, nil
	}
	return w.LibraryBackend.Find(ctx, word)
}

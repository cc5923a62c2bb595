package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"cpar/encoder/zeroshot"
	"cpar/internal/progress/bar"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/library"
	"cpar/user/ui"
)

// This file suggests words without an index, for users without tagged photos.

const ownNote = "these words are the network's own, not learnt from your photos, and many are wrong; nothing was sent"

func (f *annotateFlags) suggest(cmd *cobra.Command, args []string, list []photo.Photo) error {
	o := f.options
	o.Where, o.Style, o.KeepMtime = f.write.where(), metadata.Style(f.write.style), f.write.keepTime
	o.Progress, o.Command = bar.On(cmd.ErrOrStderr()), commandLine(cmd, args)
	p := &annotatePrinter{cmd: cmd, f: f, o: o}
	l, err := f.words.openOwn(cmd, &f.keys, &f.cache, &f.model, o.Where != "", unlessJSON(cmd, f.asJSON))
	if err != nil {
		return err
	}
	f.words.suggest(&o)
	if l != nil {
		sum, broken := l.Suggest(cmd.Context(), list, o, p.take)
		return p.finish(sum, broken, len(list))
	}
	for _, shot := range list {
		p.take(library.Result{Path: shot.Path, Also: shot.Also})
	}
	return p.finish(library.Summary{}, nil, len(list))
}

// ownWords returns a backend that suggests the network's own words. It needs no
// key until something is written.
func (f *uiFlags) ownWords(cmd *cobra.Command) (ui.Backend, error) {
	path, err := f.keys.file()
	if err != nil {
		return nil, err
	}
	_, missing := os.Stat(path)
	l, err := f.words.openOwn(cmd, &f.keys, &f.cache, &f.model, missing == nil || f.keys.path != "", unlessJSON(cmd, f.asJSON))
	if err != nil {
		return nil, err
	}
	words := func(photo []byte) (out []rank.Keyword, err error) {
		found, err := f.words.photos.KeywordsOf(photo, nil)
		for _, w := range f.words.offered(found) {
			out = append(out, w.Keyword)
		}
		return out, err
	}
	return ui.NewOwnBackend(l, words, f.page), nil
}

// openOwn opens the network. If withKey is set, it also reads the key, uses the
// encrypted cache of embeddings, and returns the library, which records all
// writes.
func (f *wordsFlags) openOwn(cmd *cobra.Command, keys *keyFlags, kept *cacheFlags, m *modelFlags, withKey bool, notes io.Writer) (l *library.Library, err error) {
	var key *user.Key
	var this *device.Device
	if withKey {
		if key, this, err = keys.read(); err == nil {
			l, err = library.Open(key, this)
		}
		if err != nil {
			return nil, err
		}
	}
	cache, err := kept.open(this, key)
	if err != nil {
		return nil, err
	}
	return l, f.open(cmd, m, cache, notes, bar.On(cmd.ErrOrStderr()))
}

// offered converts words for the JSON output. Their scores become weights,
// because they are not probabilities.
func (f *wordsFlags) offered(words []zeroshot.Score) []maybe {
	source := "network"
	if f.model != "" {
		source = "text"
	}
	out := []maybe{}
	for _, w := range words {
		out = append(out, maybe{rank.Keyword{Word: w.Word, Weight: w.Score}, source})
	}
	return out
}

func (f *wordsFlags) label() string {
	if f.own {
		return "the network's own words"
	}
	return "words"
}

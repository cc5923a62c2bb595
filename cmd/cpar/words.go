package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/encoder"
	"cpar/encoder/bundled"
	"cpar/encoder/zeroshot"
	"cpar/internal/hint"
	"cpar/internal/parallel"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/internal/settings"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/photo"
	"cpar/user/library"
	"cpar/user/vocabulary"
)

// wordsFlags make a command suggest words from outside the collection. The
// words come from the text half of a CLIP-like network or, if there is no
// index, from a classifier.
type wordsFlags struct {
	own              bool // whether to suggest words without an index
	model, tokenizer string
	list, file       string
	maxKeywords      int
	least            float64
	write            bool

	asked  []string // the words in `list` and `file`, nil for everyday words
	photos *zeroshot.Annotator
	// vocabulary is the owner's vocabulary, or nil if there is no index.
	vocabulary *vocabulary.Vocabulary
}

// These are the default maximum number and minimum scores of words. Scores are
// not probabilities. Among five hundred words, a score of minWord, one
// twentieth, is unlikely to be due to chance. minClassWord is for the bundled
// network. On every ninth photo of Corel-5k, 34 % of the words with at least
// that score were right.
const (
	maxWords     = 5
	minWord      = 0.05
	minClassWord = 0.1
)

func (f *wordsFlags) add(c *cobra.Command) {
	f.addHalf(c, "to suggest words from outside the collection (default: the half of the set in --model)")
	c.Flags().BoolVar(&f.own, "own-words", false, "without an index or a cloud: suggest words that the image network or its text half knows")
	c.Flags().StringVar(&f.list, "words", "", "comma-separated `words` to suggest, instead of everyday words")
	c.Flags().StringVar(&f.file, "words-file", "", "`file` with words to suggest, one per line")
	c.Flags().IntVar(&f.maxKeywords, "words-most", maxWords, "maximum number of such words per photo")
	c.Flags().Float64Var(&f.least, "words-score", minWord, "minimum score of a word, 0 to 1 (0.1 by default with --own-words without a text half)")
}

func (f *wordsFlags) addHalf(c *cobra.Command, use string) {
	c.Flags().StringVar(&f.model, "text-model", "", "text half of the image network, an ONNX `file`, the name of a set, or none, "+use)
	c.Flags().StringVar(&f.tokenizer, "tokenizer", "", "tokenizer of the text half, a `file` or folder (default: the one beside it)")
}

// findHalf replaces the name of a set by the path of the set's text half.
func (f *wordsFlags) findHalf() (err error) {
	if f.model == settings.None {
		f.model = ""
	}
	f.model, err = partOfSet(f.model, "text")
	return err
}

// vectors returns the text half of the image network, for profile "network". It
// returns nil if there is none, as for the network inside cpar.
func (f *wordsFlags) vectors(ctx context.Context, m *modelFlags, cache *feature.Cache, report progress.Func) (profile.TextVectors, error) {
	if m.path == "" || m.path == bundled.Name {
		return nil, nil
	}
	return f.textVectors(ctx, cache, report)
}

// textVectors returns the text half, or nil if none was named.
func (f *wordsFlags) textVectors(ctx context.Context, cache *feature.Cache, report progress.Func) (profile.TextVectors, error) {
	if f.model == "" {
		return nil, nil
	}
	half, err := zeroshot.Open(f.model, f.tokenizer) // open it now, so that errors appear before the long work
	if err != nil {
		return nil, err
	}
	return func(words []string) ([][]float32, error) {
		half, err := zeroshot.Open(f.model, f.tokenizer)
		if err != nil {
			return nil, err
		}
		defer half.Close()
		return zeroshot.Vectors(ctx, words, half, cache, report)
	}, half.Close()
}

// shown reports whether words are needed. If the command writes keywords
// without printing them, it needs words only with --words-write.
func (f *wordsFlags) shown(cmd *cobra.Command, a *annotateFlags) bool {
	if f.model == "" {
		return false
	}
	if a.write.to == "" || f.write || a.asJSON || a.options.DryRun || verbose(cmd) {
		return true
	}
	for _, name := range []string{"text-model", "words", "words-file"} {
		if cmd.Flags().Changed(name) { // a value from the settings does not count
			fmt.Fprintln(cmd.ErrOrStderr(), "note: words of the text half are not looked for: --words-write writes them, --verbose or --json shows them")
			break
		}
	}
	return false
}

// parse checks the flags and reads the list of words. If --model names a set,
// the set's text half is the default.
func (f *wordsFlags) parse(cmd *cobra.Command, m *modelFlags, written bool) error {
	if s, ok := findSet(m.set); ok && f.model == "" {
		if _, ok := s.File("text"); ok {
			f.model = m.set
		}
	}
	err := f.findHalf()
	if err != nil {
		return err
	}
	if f.own && f.model == "" {
		m.orBundled()
		if !cmd.Flags().Changed("words-score") {
			f.least = minClassWord
		}
	}
	switch {
	case f.own && written && !f.write:
		return hint.Add(usageOf("--own-words with --write: many of these words are wrong, so they are written only on request"), "add --words-write, or leave --write out")
	case f.own && m.path == "":
		return hint.Add(usageOf("--own-words needs an image network, and none was named"), "leave --model none out, or pass --model FILE")
	case f.own:
	case f.model == "" && (f.list != "" || f.file != "" || f.write):
		return hint.Add(usageOf("suggesting words needs the text half of an image network, and none was named"), "pass --text-model FILE, which belongs to a CLIP-like network")
	case f.model == "":
		return nil
	case m.path == "":
		return hint.Add(usageOf("--text-model needs the image network that it belongs to"), "pass --model FILE, too")
	}
	switch {
	case f.write && !written:
		return hint.Add(usageOf("--words-write without --write"), "add --write sidecar, or leave --words-write out")
	case f.maxKeywords < 1 || !(f.least >= 0 && f.least <= 1):
		return usageOf(fmt.Sprintf("--words-most %d and --words-score %g; at least 1, and 0 to 1", f.maxKeywords, f.least))
	}
	text := f.list
	if f.file != "" {
		b, err := os.ReadFile(f.file)
		if err != nil {
			return fmt.Errorf("reading words: %w: %w", cpar.ErrInput, err)
		}
		text += "\n" + strings.TrimPrefix(string(b), "\uFEFF")
	}
	if f.asked, err = zeroshot.ReadList(text); err != nil {
		return err
	}
	if len(f.asked) == 0 && (f.list != "" || f.file != "") {
		return usageOf("--words and --words-file name no word")
	}
	return nil
}

// open computes the vectors of the words before the first request. This finds a
// broken text half early, and frees the memory of the half.
func (f *wordsFlags) open(cmd *cobra.Command, m *modelFlags, cache *feature.Cache, notes io.Writer, report progress.Func) error {
	o := zeroshot.Options{Asked: f.asked, MaxKeywords: f.maxKeywords, MinScore: f.least, Cache: cache, Progress: report}
	if f.model == "" {
		classifier, err := encoder.OpenClassifier(m.path, m.Options())
		if err != nil {
			return err
		}
		o.Encoder = classifier
		f.photos, err = zeroshot.PrepareClasses(o)
		return err
	}
	image, err := m.open(notes)
	if err != nil {
		return err
	}
	half, err := zeroshot.Open(f.model, f.tokenizer)
	if err != nil {
		return hint.Add(err, "--text-model takes the text half of --model in ONNX format, as text_model.onnx or textual/model.onnx")
	}
	defer half.Close()
	o.Encoder, o.Text = image, half
	f.photos, err = zeroshot.Prepare(cmd.Context(), o)
	switch {
	case err != nil || f.doubt() == "":
		return err
	case f.write: // refuse, because wrong words would stay in photos
		return hint.Add(fmt.Errorf("%w: %s", cpar.ErrInput, f.doubt()), "pass the text half that belongs to --model, or leave --words-write out")
	case notes != nil:
		fmt.Fprintf(notes, "note: %s\n", f.doubt())
	}
	return nil
}

// doubt returns the reason why the words may be due to chance, or "".
func (f *wordsFlags) doubt() string {
	if f.photos == nil || !f.photos.Doubtful {
		return ""
	}
	return fmt.Sprintf("of %d pictures of one colour the text half names %d correctly; unless it belongs to the image network, its words are chance", f.photos.ColourCount, f.photos.ColourMatches)
}

func (f *wordsFlags) suggest(o *library.Options) {
	if f.photos == nil || !f.write {
		return
	}
	o.Suggests = f.photos.String()
	o.Suggest = func(path string, known []rank.Keyword) ([]string, error) {
		found, err := f.keywords(path, known)
		var list []string
		for _, w := range found {
			list = append(list, w.Word)
		}
		return list, err
	}
}

// keywords returns the words for a photo, except those among its keywords. It
// spells them as the owner's vocabulary does.
func (f *wordsFlags) keywords(path string, known []rank.Keyword) (words []zeroshot.Score, err error) {
	found, err := f.photos.Keywords(path, textOf(known))
	seen := textOf(known)
	for _, w := range found {
		if f.vocabulary.Never(w.Word) {
			continue
		}
		if w.Word = f.vocabulary.Word(w.Word); !slices.Contains(seen, w.Word) {
			seen, words = append(seen, w.Word), append(words, w)
		}
	}
	return words, err
}

func textOf(keywords []rank.Keyword) (list []string) {
	for _, k := range keywords {
		list = append(list, k.Word)
	}
	return list
}

type photoWords struct {
	words []zeroshot.Score
	err   error
}

// forPhotos finds the words for all photos. It runs after the last request, so
// that no request can depend on the words.
func (f *wordsFlags) forPhotos(cmd *cobra.Command, all []library.Result, report progress.Func) ([]photoWords, error) {
	out := make([]photoWords, len(all))
	if f.photos == nil {
		return out, nil
	}
	var done atomic.Int64
	err := parallel.Until(cmd.Context(), len(all), func() func(int) {
		return func(i int) {
			if r := &all[i]; r.Err == nil && !photo.IsVideo(r.Path) {
				out[i].words, out[i].err = f.keywords(r.Path, r.Keywords)
			}
			report.Report("words of photos", int(done.Add(1)), len(all))
		}
	})
	return out, err
}

func (w photoWords) print(cmd *cobra.Command, label string) {
	if len(w.words) == 0 {
		return
	}
	var parts []string
	for _, s := range w.words {
		parts = append(parts, fmt.Sprintf("%s %.2f", sanitize.Text(s.Word), s.Score))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "  %s: %s\n", label, strings.Join(parts, ", "))
}

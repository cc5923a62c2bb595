package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cpar/encoder/zeroshot"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/model/rank"
	"cpar/user/library"
)

// A maybe value is a keyword in the JSON list "maybe". For a word that was not
// learnt from the collection, Source is "network" (from the classes of the
// image network) or "text" (from the text half of a CLIP-like network).
type maybe struct {
	rank.Keyword
	Source string `json:"source,omitempty"`
}

// annotated is the JSON output of annotate for one photo.
type annotated struct {
	Photo    string           `json:"photo"`
	Also     []string         `json:"also,omitempty"`
	Keywords []rank.Keyword   `json:"keywords"` // likely keywords, which --write writes
	Maybe    []maybe          `json:"maybe"`    // other keywords
	Words    []zeroshot.Score `json:"words,omitempty"`
	Doubt    string           `json:"words_doubt,omitempty"` // why the words may be due to chance
	Error    string           `json:"error,omitempty"`
	Warning  string           `json:"warning,omitempty"`
	Sent     int              `json:"bytes_sent"`
	Received int              `json:"bytes_received"`
	Visited  uint32           `json:"records_visited,omitempty"`
	Touched  uint64           `json:"bytes_touched,omitempty"`
	// CloudMS is this request's share, in milliseconds, of the time for its
	// batch (the requests served in one scan).
	CloudMS float64 `json:"answer_ms,omitempty"`
	// Known reports that no request was sent because the answer was known from
	// an earlier run.
	Known  bool     `json:"known,omitempty"`
	Added  []string `json:"added,omitempty"`
	Files  []string `json:"files,omitempty"`
	Run    string   `json:"run,omitempty"`
	DryRun bool     `json:"dry_run,omitempty"`
}

func annotatedOf(r *library.Result) annotated {
	a := annotated{Photo: r.Path, Also: r.Also, Keywords: append([]rank.Keyword{}, r.Keywords...), Maybe: []maybe{}, Sent: r.Asked.Sent, Received: r.Asked.Received,
		Visited: r.Asked.Visited, Touched: r.Asked.Touched, CloudMS: float64(r.Asked.Took.Answer.Microseconds()) / 1000,
		Known: r.Known, Added: r.Added, Files: r.Files, Run: r.Run}
	for _, k := range r.Maybe {
		a.Maybe = append(a.Maybe, maybe{Keyword: k})
	}
	if r.Err != nil {
		a.Error = r.Err.Error()
	}
	if r.CutShort {
		a.Warning = cutShort
	}
	return a
}

const cutShort = "the end of the file is missing; its beginning was annotated"

func tellCutShort(cmd *cobra.Command, path string, r *library.Result) {
	if r.CutShort && r.Err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s\n", sanitize.Text(path), cutShort)
	}
}

// An annotatePrinter collects results and prints them after the last request.
type annotatePrinter struct {
	cmd     *cobra.Command
	f       *annotateFlags
	o       library.Options
	guesses bool // whether keywords have probabilities
	all     []library.Result
	words   []photoWords // words for all photos, empty unless requested
	failed  int
	first   error
	beside  int
}

func (p *annotatePrinter) take(r library.Result) {
	p.all = append(p.all, r)
	if r.Beside {
		p.beside++
	}
	if r.Err != nil {
		p.failed++
		p.first = worse(p.first, fmt.Errorf("%s: %w", sanitize.Text(r.Path), r.Err))
	}
}

// lookForWords finds words from outside the collection (words.go) for all
// photos, after the last request.
func (p *annotatePrinter) lookForWords(report progress.Func) (err error) {
	p.words, err = p.f.words.forPhotos(p.cmd, p.all, report)
	for i, w := range p.words {
		if w.err != nil {
			p.failed++
			p.first = worse(p.first, fmt.Errorf("%s: %w", sanitize.Text(p.all[i].Path), w.err))
		}
	}
	return err
}

// finish prints the results of n photos even if a later step failed, because the
// requests have already been sent.
func (p *annotatePrinter) finish(sum library.Summary, broken error, n int) error {
	if err := p.lookForWords(p.o.Progress); broken == nil {
		broken = err
	}
	if err := p.end(sum, broken); err != nil {
		return err
	}
	if errors.Is(broken, library.ErrStopped) {
		return hint.Add(fmt.Errorf("%w: %d of %s failed; the first: %w", broken, p.failed, photosOf(n), p.first), "pass --on-errors continue to name them and continue")
	}
	if broken != nil {
		return broken
	}
	return partly(p.failed, len(p.all), p.first)
}

func (p *annotatePrinter) end(sum library.Summary, broken error) error {
	out := p.cmd.OutOrStdout()
	if p.f.asJSON {
		for i := range p.all {
			a := annotatedOf(&p.all[i])
			w := p.words[i]
			if a.DryRun, a.Words = p.o.DryRun, w.words; w.err != nil && a.Error == "" {
				a.Error = w.err.Error()
			}
			if len(a.Words) > 0 {
				a.Doubt = p.f.words.doubt()
			}
			if p.f.words.own {
				a.Maybe, a.Words = p.f.words.offered(w.words), nil
			}
			if err := writeLine(out, a); err != nil {
				return err
			}
		}
	} else {
		for i := range p.all {
			p.print(&p.all[i], p.words[i])
		}
	}
	if p.f.write.to == toCSV && !p.o.DryRun && broken == nil {
		words := p.words
		if !p.f.words.write { // words are only printed
			words = nil
		}
		n, err := writeCSV(p.f.write.out, p.all, words)
		if err != nil {
			return err
		}
		if !p.f.asJSON {
			fmt.Fprintf(out, "wrote %s with keywords into %s\n", photosOf(n), p.f.write.out)
		}
	}
	p.close(sum)
	return nil
}

// print prints a result. If keywords are written, it prints them only with
// --verbose.
func (p *annotatePrinter) print(r *library.Result, w photoWords) {
	tellCutShort(p.cmd, r.Path, r)
	out, written := p.cmd.OutOrStdout(), p.f.write.to != ""
	switch {
	case r.Err != nil || w.err != nil:
		fmt.Fprintf(p.cmd.ErrOrStderr(), "%s: %v\n", sanitize.Text(r.Path), cmp.Or(r.Err, w.err))
	case p.o.DryRun && len(r.Files) > 0:
		p.diff(r, w)
	case written && !verbose(p.cmd):
	default:
		fmt.Fprintln(out, sanitize.Text(r.Path))
		printKeywords(p.cmd, r.Keywords, "")
		if len(r.Keywords) == 0 && (!p.f.words.own || len(w.words) == 0) {
			fmt.Fprintln(out, "  no keyword is likely")
		}
		w.print(p.cmd, p.f.words.label())
	}
}

func (p *annotatePrinter) diff(r *library.Result, w photoWords) {
	for _, file := range r.Files {
		if dir, err := filepath.Abs(filepath.Dir(r.Path)); err == nil && filepath.Dir(file) == dir {
			file = filepath.Join(filepath.Dir(r.Path), filepath.Base(file)) // as the user spelled the folder
		}
		fmt.Fprintln(p.cmd.OutOrStdout(), sanitize.Text(file))
	}
	var new []rank.Keyword
	offered := slices.Clone(r.Keywords)
	for _, s := range w.words {
		offered = append(offered, rank.Keyword{Word: s.Word, Weight: s.Score})
	}
	for _, k := range offered {
		if slices.Contains(r.Added, k.Word) {
			new = append(new, k)
		}
	}
	printKeywords(p.cmd, new, "+ ")
	if !p.f.words.write {
		w.print(p.cmd, p.f.words.label())
	}
}

// printKeywords prints the most probable keywords first, because `words` may be
// ordered to prefer rare ones. Keywords with weights keep their order.
func printKeywords(cmd *cobra.Command, words []rank.Keyword, mark string) {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b rank.Keyword) int { return cmp.Compare(b.Probability, a.Probability) })
	width := 0
	for _, k := range words {
		width = max(width, len([]rune(sanitize.Text(k.Word))))
	}
	for _, k := range words {
		sure := fmt.Sprintf("%5.2f", k.Weight)
		if k.Probability > 0 {
			sure = fmt.Sprintf("%5s", percent(k.Probability))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "  %s%-*s  %s\n", mark, width, sanitize.Text(k.Word), sure)
	}
}

func (p *annotatePrinter) close(sum library.Summary) {
	if p.f.asJSON {
		return
	}
	notes := p.cmd.ErrOrStderr()
	if p.o.Where != "" {
		verb, end := either(p.o.DryRun, "would write", "wrote"), either(p.o.DryRun, "; nothing was written", "")
		fmt.Fprintf(p.cmd.OutOrStdout(), "%s %s for %s into %s%s\n", verb, counted(sum.Keywords, "word"), photosOf(sum.Written), counted(sum.Files, "file"), end)
		if sum.Known > 0 {
			fmt.Fprintf(notes, "note: the answers for %s were known; --again asks once more\n", photosOf(sum.Known))
		}
		if n := sum.Copies; n > 0 {
			fmt.Fprintf(notes, "note: %s the same content as another one, and so the same answer\n", either(n == 1, "1 photo has", photosOf(n)+" have"))
		}
		if n := sum.Done - sum.Nothing; sum.Written == 0 && n > 0 {
			fmt.Fprintf(notes, "note: %s, or you have removed them\n", either(n == 1, "1 photo already has its likely keywords", photosOf(n)+" already have their likely keywords"))
		}
	}
	if p.f.words.own {
		fmt.Fprintln(notes, "note: "+ownNote)
	}
	if p.beside > 0 {
		fmt.Fprintf(notes, "note: %s cannot hold keywords; they are in sidecars\n", photosOf(p.beside))
	}
	if p.guesses && !p.f.likely.set {
		fmt.Fprintf(notes, "note: keywords of at least %s are likely; about %s of them are right in your collection (--right)\n", percent(p.o.MinProbability), percent(p.f.likely.share))
	}
	if sum.Nothing > 0 && p.guesses && p.o.MinProbability > 0 {
		fmt.Fprintf(notes, "note: %s got no keyword, because none reaches %s; --min-probability 0 also shows unlikely keywords\n", photosOf(sum.Nothing), percent(p.o.MinProbability))
	}
	if sum.Run != "" {
		next(p.cmd, "cpar undo %s takes it back", sum.Run)
	}
}

// percent formats a probability and never prints 100 %.
func percent(p float64) string {
	switch {
	case p < 0.01:
		return "<1 %"
	case p > 0.99:
		return ">99 %"
	}
	return strings.TrimSpace(fmt.Sprintf("%.0f %%", 100*p))
}

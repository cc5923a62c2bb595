package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/model/rank"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/library"
)

type annotateFlags struct {
	askFlags
	search       searchFlags
	write        writeFlags
	words        wordsFlags
	ranker       string
	ranking      user.Ranking
	maxKeywords  int
	saveRequests string
	onErrors     string
	again        bool
	exact        bool
	album        bool
	asJSON       bool
	options      library.Options // set by parse
	tell         io.Writer       // receives notes about the network, may be nil
}

// These are the default maximum numbers of keywords per photo: maxKeywords for
// keywords with probabilities, and maxWeights for keywords with weights only,
// which have no threshold.
const (
	maxKeywords = 12
	maxWeights  = 10
)

func annotateCommand() *cobra.Command {
	var f annotateFlags
	c := &cobra.Command{
		Use:   "annotate FILE|FOLDER…",
		Short: "get keywords for photos, and write them where photo programs find them",
		Long: `annotate gives keywords to photos. For each photo it sends the cloud an encrypted
request, never the photo or its features. The reply holds the encrypted keywords of the
nearest photos of your collection, which annotate decrypts and ranks on this device.

It prints the keywords, or writes them with --write:

  sidecar   beside each photo, as digiKam, darktable, Immich and others read them
            (XMP). --sidecar-style chooses the file name
  embedded  into JPEG files, where Lightroom looks. Other files get a sidecar
  csv       into one file, --out, in the form of a manifest.csv

Keywords from annotate are placed below a root "auto", and cpar never learns from them
unless you accept them. Your own fields, keywords and dates stay unchanged. A keyword that
you remove is not written again. cpar undo reverts a run, cpar runs lists runs. RAW and
JPEG files of one shot share one annotation. In a folder, links to folders, and links to
photos that are listed themselves, are left out. A link to any other photo counts as one.

If ffmpeg is on the path, videos (MP4, MOV, M4V, MKV, WebM, AVI) get a sidecar, too.
annotate asks about five frames of each, and averages a keyword's probability over them.

An interrupted run continues where it stopped: photos with known answers are recognised by
their content, even after a move (--again asks again). If the same command continues it,
both are one run, which one cpar undo reverts. --dry-run sends requests, remembers
the answers and shows the changes. Without --write nothing is remembered.

By default annotate uses likely keywords, at most twelve (--most, 0 for all). An index with
a calibrated ranker (cpar build --profile learned or network, or --ranker calibrated) gives
the probability that a keyword fits, learnt from your collection. Keywords are likely above
a threshold that is set so that about two in three of them are right. --right asks for
another share, --min-probability for a threshold. --json lists the others as "maybe".
--rare prefers rare keywords, which say more but are right less often. Without such a
ranker the number is the weight W_t: ten neighbours that all have the keyword add up to
about 9. To write such keywords, set their number with --most. Names of people are
suggested only if the index was built with them. The owner's vocabulary (cpar words) is
applied to keywords before they are printed or written.

A CLIP-like image network with its text half (--model and --text-model) also suggests
words from outside your collection: everyday words, or the list in --words. They are
computed on this device after the last request and printed on a separate line with a
score. The score is a share among all words, not a probability: it ranks the words and
does not tell whether they fit. --words-write makes --write include them. The first run
with a text half takes a minute or more to read all words, which the cache keeps.

If none of your photos has keywords yet, --own-words suggests words that the network
itself knows, by its text half or by the classes that it was trained on. This needs no
index, key or cloud, and nothing is sent. Many of these words are wrong. --json lists
them as "maybe" with their "source", and --write needs --words-write and the key.

An index of scheme sealed returns a number for every photo, which only the key can read.
annotate fetches the keywords and decryption data once and keeps them encrypted in the
cache folder. An index of scheme local is fetched once and searched on this device, so
that nothing is sent.

annotate does not trust the cloud. If the cloud offers an older generation than this
device has seen, or another index of your key than the one in use, annotate stops before
it sends anything (exit code 7). After building an index anew, name it once with --index.
Schemes that show the cloud the distances must be allowed for the key (cpar key allow), and
their indexes named each time. cpar card brings another device up to date. A reply that
was tampered with is an error for its photo (exit code 7).

With --album, annotate fetches the photos of your album that have no keywords, and keeps
its suggestions in the catalogue, where cpar album search finds them.

Unreadable photos are named at the end. The exit code is then 3, because these photos have
no keywords, although the others are done. On a second device you need only the key and, for
an index of profile network, the same image network (--model).`,
		Example: `  $ cpar annotate new/beach.jpg --key family.key --cloud http://127.0.0.1:8080
  new/beach.jpg
    sea    81 %
    beach  74 %

  $ cpar annotate new/ --own-words

  $ cpar annotate photos/ --write sidecar --exclude 'private*'
  wrote 5412 words for 1843 photos into 1901 files
  $ cpar undo --last

  $ find photos/ -name '*.jpg' -mtime -7 | cpar annotate - --write embedded --dry-run`,
		Args: f.args,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	c.Flags().BoolVar(&f.album, "album", false, "suggest keywords for the photos of the album that have none; arguments are a query (cpar album search)")
	f.askFlags.add(c)
	f.write.add(c)
	f.search.add(c)
	f.words.add(c)
	c.Flags().BoolVar(&f.words.write, "words-write", false, "with --write, also write words from outside the collection, which are otherwise only shown")
	c.Flags().IntVar(&f.maxKeywords, "most", maxKeywords, "maximum number of keywords per photo, 0 for no limit (10 by default if they have weights)")
	c.Flags().IntVar(&f.maxKeywords, "keywords", maxKeywords, "the same as --most")
	_ = c.Flags().MarkHidden("keywords")
	c.Flags().StringVar(&f.ranker, "ranker", "default", "how keywords are ranked: paper (weights W_t), calibrated (probabilities), or default (as the index was built)")
	c.Flags().BoolVar(&f.ranking.Rare, "rare", false, "prefer rare keywords (needs an index with a calibrated ranker)")
	c.Flags().IntVar(&f.options.Jobs, "jobs", 0, "number of photos read at once, 0 for one per processor")
	c.Flags().StringVar(&f.onErrors, "on-errors", "continue", "on unreadable photos: continue, stop at the first, or tolerate a number of them")
	c.Flags().BoolVar(&f.exact, "exact", false, "search all cells of an index, also for photos whose answer is known (the cloud sees the number of requests)")
	c.Flags().BoolVar(&f.again, "again", false, "also send requests for photos whose answer is known")
	c.Flags().StringVar(&f.saveRequests, "save-requests", "", "keep a copy of every encrypted request in this `folder`, for cpar inspect")
	dryRunFlag(c, &f.options.DryRun)
	jsonFlag(c, &f.asJSON)
	c.Flags().Lookup("json").Usage = "print JSON instead of text, one line per photo"
	return c
}

// args accepts photos and folders or, with --album, a query, which may be empty.
func (f *annotateFlags) args(cmd *cobra.Command, args []string) error {
	if f.album {
		return nil
	}
	return someArgs("a photo, or a folder of photos")(cmd, args)
}

func (f *annotateFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.parse(cmd); err != nil {
		return err // before asking for a passphrase
	}
	if f.album {
		if f.words.own || f.write.to != "" {
			return usageOf("--album takes neither --write nor --own-words: its suggestions are in the catalogue of the album")
		}
		return tellConflict(cmd, f.asJSON, f.annotateAlbum(cmd, args))
	}
	list, err := f.photos(cmd, args)
	if err != nil {
		return err
	}
	if f.words.own {
		return f.suggest(cmd, args, list)
	}
	a, err := f.asker(cmd)
	if err != nil {
		return err
	}
	report := a.options.Progress
	f.tell = unlessJSON(cmd, f.asJSON)
	if f.words.shown(cmd, f) {
		if err := f.words.open(cmd, &f.model, a.options.Cache, f.tell, report); err != nil {
			return err
		}
	}
	x, err := a.open(cmd.Context(), f.ready)
	if err != nil {
		return err
	}
	f.notes(cmd, x)
	f.words.vocabulary = x.Vocabulary()
	o := f.wanted(x)
	o.Progress, o.Command, o.Resume = report, commandLine(cmd, args), true
	o.Params, o.AllCells, o.Ranker, o.Rare = f.params, f.exact, f.ranking.Ranker, f.ranking.Rare
	if f.saveRequests != "" {
		o.Sending = func(i int, q *cpar.Request) error { return saveRequest(f.saveRequests, i, q) }
	}
	f.words.suggest(&o)
	p := &annotatePrinter{cmd: cmd, f: f, o: o, guesses: likelihoods(x, f.ranking)}
	work := library.Ask
	if f.write.to != "" {
		l, err := library.Open(a.key, a.this)
		if err != nil {
			return err
		}
		work = l.Annotate
	}
	sum, broken := work(cmd.Context(), x, list, o, p.take)
	if !x.Scheme().CloudSearches() && broken == nil && !f.asJSON {
		fmt.Fprintln(cmd.ErrOrStderr(), "note: searched on this device, so nothing was sent")
	}
	return p.finish(sum, broken, len(list))
}

// commandLine returns the command and its arguments without flags, for the
// journal of runs.
func commandLine(cmd *cobra.Command, args []string) string {
	return strings.TrimPrefix(cmd.CommandPath(), "cpar ") + " " + strings.Join(args, " ")
}

func (f *annotateFlags) notes(cmd *cobra.Command, x *device.Index) {
	if f.asJSON {
		return
	}
	if !user.Hides(x.Scheme()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: scheme %v shows the cloud the distances and which photos are near; sealed shows neither (SECURITY.md)\n", x.Scheme())
	}
	if _, needed := x.Profile().Network(); !needed && cmd.Flags().Changed("model") && f.words.photos == nil {
		f.model.unused(cmd.ErrOrStderr(), x.Profile().Kind().String(), "")
	}
	if note := f.search.note(x.Manifest); note != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
	if x.Fetched > 0 {
		kept := "it is kept in the cache folder"
		if f.cache.folder == noCache {
			kept = "nothing is kept"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s of the index was fetched; %s\n", size(x.Fetched), kept)
	}
}

// parse checks the flags as far as possible before the index is opened.
func (f *annotateFlags) parse(cmd *cobra.Command) error {
	var err error
	if f.ranking.Ranker, err = rank.ParseKind(f.ranker); err != nil {
		return err
	}
	f.maxKeywords = cmp.Or(f.maxKeywords, math.MaxInt)
	f.ranking.MaxKeywords = f.maxKeywords
	if err := f.check(cmd); err != nil {
		return err
	}
	f.ranking.MinProbability = f.likely.least
	f.write.counted = cmd.Flags().Changed("most") || cmd.Flags().Changed("keywords")
	if err := f.ranking.Check(); err != nil {
		return err
	}
	if f.ranking.Ranker == rank.KindPaper && f.ranking.MinProbability > 0 {
		return hint.Add(usageOf("--min-probability with --ranker paper, whose weights are not probabilities"), "leave out one of the two")
	}
	if f.ranking.Ranker == rank.KindPaper && f.ranking.Rare {
		return hint.Add(usageOf("--rare with --ranker paper, which has no option for rare keywords"), "leave out one of the two")
	}
	if f.options.OnErrors, err = parseErrors(f.onErrors); err != nil {
		return err
	}
	if f.options.Jobs < 0 {
		return exitcode.UsageError(fmt.Errorf("--jobs %d; 0 means one per processor", f.options.Jobs))
	}
	if err := f.write.parse(f.options.DryRun && !f.album); err != nil {
		return err
	}
	if err := f.words.parse(cmd, &f.model, f.write.to != ""); err != nil {
		return err
	}
	return f.search.parse()
}

func parseErrors(text string) (int, error) {
	switch text {
	case "continue":
		return -1, nil
	case "stop":
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, exitcode.UsageError(fmt.Errorf("--on-errors %s; choose continue, stop, or a number", sanitize.Text(text)))
	}
	return n, nil
}

// ready checks that the index supports the flags. It is called before any
// request is sent.
func (f *annotateFlags) ready(o *user.Owner) error {
	if err := o.CheckRanking(f.ranking); err != nil {
		return err
	}
	if f.write.to != "" && !f.write.counted && !(f.ranking.Ranker != rank.KindPaper && o.Ranker().Kind() == rank.KindCalibrated) {
		return hint.Add(fmt.Errorf("writing keywords: %w: weights do not tell which keywords are likely right", cpar.ErrInput),
			"build the index with --ranker calibrated, or set the number of keywords per photo, such as --most 3")
	}
	_, err := f.model.forOwner(o, f.tell)
	return err
}

// likelihoods reports whether keywords have probabilities.
func likelihoods(x *device.Index, r user.Ranking) bool {
	return r.Ranker != rank.KindPaper && x.Ranker().Kind() == rank.KindCalibrated
}

func (f *annotateFlags) wanted(x *device.Index) library.Options {
	o := f.options
	o.Where, o.Style, o.KeepMtime = f.write.where(), metadata.Style(f.write.style), f.write.keepTime
	o.Again, o.Lean = f.again || f.exact || f.saveRequests != "", true
	o.MaxKeywords = f.maxKeywords
	o.Everything = f.maxKeywords > library.MostKept
	switch {
	case likelihoods(x, f.ranking):
		o.MinProbability = f.likely.minProbability(x.Owner)
		o.Everything = o.Everything || f.likely.set && f.likely.least < library.LeastKept
	case !f.write.counted:
		o.MaxKeywords = maxWeights
	}
	return o
}

func (f *annotateFlags) params(x *device.Index) (cpar.Params, error) {
	neighbours := x.Ranker().Neighbours()
	if f.ranking.Ranker == rank.KindPaper {
		neighbours = rank.PaperNeighbours
	}
	return f.search.params(x.Manifest, neighbours)
}

// worse returns the first cloud error, otherwise the first error.
func worse(first, next error) error {
	if errors.Is(next, cpar.ErrCloud) && !errors.Is(first, cpar.ErrCloud) {
		return next
	}
	return cmp.Or(first, next)
}

func saveRequest(folder string, i int, q *cpar.Request) error {
	b, err := q.MarshalBinary()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("keeping the request: %w: %w", cpar.ErrStorage, err)
	}
	// Number the files instead of naming them after photos. Users may share
	// requests, and names of photos are private.
	return durable.WriteFile(filepath.Join(folder, fmt.Sprintf("request-%04d", i+1)), b, 0o600)
}

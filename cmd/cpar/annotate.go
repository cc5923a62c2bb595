package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/untrusted"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/photos"
	"cpar/user/rank"
)

type annotateFlags struct {
	keys         keyFlags
	model        modelFlags
	cloud        cloudFlags
	search       searchFlags
	ranker       string
	ranking      user.Ranking
	saveRequests string
	asJSON       bool
}

// searchFlags are the owner's side of cpar.Params.
type searchFlags struct {
	scheme     string
	search     string
	neighbours int
	approx     float64
	prune      bool
	// asked is what parse makes of them; what was not named is the index's to say.
	asked cpar.Params
}

func (f *searchFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.scheme, "scheme", "", "cpar or ivf (a part of the photos), capia (scan of all), sealed (scan that the cloud cannot read) or local (scan at home); by default what the index was built for")
	c.Flags().IntVar(&f.neighbours, "neighbours", 0, "nearest photos whose keywords count; by default as many as the index's ranker wants, 10 for the paper's")
	c.Flags().Float64Var(&f.approx, "approx", 10, "approximation power AP-X: percent of the photos that a search may visit, 0.1 to 100")
	c.Flags().StringVar(&f.search, "search", "", "how to search an index of scheme cpar: depth (the paper's Algorithm 1, the default), rank (finds more) or bestbin; ivf only where it holds an inverted file too")
	c.Flags().BoolVar(&f.prune, "prune", false, "search depth first and skip subtrees by plane distance; shows the cloud more (SECURITY.md)")
}

// parse refuses what no index could be asked.
func (f *searchFlags) parse() (err error) {
	if f.scheme != "" {
		if f.asked.Scheme, err = cpar.ParseScheme(f.scheme); err != nil {
			return err
		}
	}
	if f.search != "" {
		if f.asked.Search, err = cpar.ParseSearch(f.search); err != nil {
			return err
		}
	}
	if f.neighbours < 0 || f.neighbours > cpar.MaxNeighbours {
		return fmt.Errorf("%w: --neighbours %d; 1 to %d are possible", cpar.ErrInput, f.neighbours, cpar.MaxNeighbours)
	}
	tenths := math.Round(f.approx * 10)
	if math.Abs(tenths-f.approx*10) > 1e-6 || tenths < 1 || tenths > 1000 {
		return fmt.Errorf("%w: --approx %g; it is a percentage from 0.1 to 100 in steps of 0.1", cpar.ErrInput, f.approx)
	}
	f.asked.L, f.asked.Approx, f.asked.Prune = uint16(f.neighbours), uint16(tenths), f.prune
	return nil
}

// params are the search of an index whose ranker wants so many neighbours.
func (f *searchFlags) params(m *cpar.Manifest, neighbours int) (cpar.Params, error) {
	p := f.asked
	p.Scheme, p.L = cmp.Or(p.Scheme, m.Scheme), cmp.Or(p.L, uint16(neighbours))
	switch {
	case f.search != "":
	case p.Scheme == m.Scheme:
		p.Search = m.DefaultParams().Search
	default:
		p.Search = p.Scheme.Searches()[0]
	}
	return p, p.Validate()
}

// note says which structure is searched, where the index has two and nobody chose.
func (f *searchFlags) note(m *cpar.Manifest) string {
	if m.Trees == 0 || m.Lists == 0 || f.search != "" || f.scheme != "" {
		return ""
	}
	return fmt.Sprintf("note: this index holds a forest and an inverted file; its forest is searched (%v). --search ivf searches the other", m.DefaultParams().Search)
}

// annotated is what annotate prints of one photo.
type annotated struct {
	Photo    string         `json:"photo"`
	Keywords []rank.Keyword `json:"keywords,omitempty"`
	Error    string         `json:"error,omitempty"`
	Sent     int            `json:"bytes_sent"`
	Received int            `json:"bytes_received"`
	Visited  uint32         `json:"records_visited,omitempty"`
	Touched  uint64         `json:"bytes_touched,omitempty"`
	// CloudMS is, of several requests sent together, this one's share.
	CloudMS float64 `json:"answer_ms,omitempty"`
}

func annotatedOf(d device.Annotated) annotated {
	a := annotated{Photo: d.Photo, Keywords: d.Keywords, Sent: d.Sent, Received: d.Received,
		Visited: d.Visited, Touched: d.Touched, CloudMS: float64(d.Took.Answer.Microseconds()) / 1000}
	if d.Err != nil {
		a.Error = d.Err.Error()
	}
	return a
}

func annotateCommand() *cobra.Command {
	var f annotateFlags
	c := &cobra.Command{
		Use:   "annotate FILE|FOLDER…",
		Short: "get keywords for new photos",
		Long: `annotate gives keywords to photos. Of each photo it sends the cloud an encrypted
request, never the photo or its features; the reply holds the encrypted keywords
of the nearest photos of your collection, which are decrypted here and ranked.

An index of scheme sealed returns a number for every photo, which only the key
reads; keywords and what reads the numbers are fetched once and kept in the cache
folder, encrypted. One of scheme local is fetched whole, once, and searched here:
nothing is sent.

A cloud is not believed. If it offers an older state of an index than this device has
seen, or another index of your key than the one in use, annotate stops (exit code 7)
before anything is sent. An index that you have built anew is named once with --index.
One of a scheme that shows the cloud distances must be allowed for the key (cpar key
allow) and named each time. cpar card takes what this device has seen to another.
A reply that was tampered with is named beside its photo and changes nothing else, not
even the exit code: the cloud must not see that it was noticed.

The number beside a keyword says how sure it is. An index with a calibrated ranker
(cpar build --profile learned or network, or --ranker calibrated) gives the probability
that the keyword fits, learnt from your collection, the most probable first.
--min-probability leaves out what is less probable, so that some photos get more
keywords than others; --rare prefers rare words, which say more where they are right
and are right less often. Without such a ranker the number is the weight
W_t: of ten neighbours that all have the keyword the sum is near 9.

On a second device the key is all you need, and for an index of profile network the
image network that it was built with (--model).`,
		Example: `  $ cpar annotate new/beach.jpg --key family.key --cloud http://127.0.0.1:8080
  new/beach.jpg
    sea    81 %
    beach  74 %
    sky    31 %

  $ cpar annotate new/ --min-probability 0.5`,
		Args: someArgs("a photo, or a folder of photos"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.keys.add(c)
	f.cloud.add(c)
	c.Flags().StringVar(&f.cloud.index, "index", "", "`id` of the index at the cloud, where it has several")
	f.search.add(c)
	f.model.add(c)
	c.Flags().IntVar(&f.ranking.Most, "keywords", 10, "keywords for each photo, at most")
	c.Flags().StringVar(&f.ranker, "ranker", "default", "what ranks keywords: paper (weights W_t), calibrated (probabilities), or default: what the index was built with")
	c.Flags().Float64Var(&f.ranking.MinProbability, "min-probability", 0, "leave out keywords that are less probable, 0 to 1; the index needs a calibrated ranker")
	c.Flags().BoolVar(&f.ranking.Rare, "rare", false, "give rare words their due; the index needs a calibrated ranker")
	c.Flags().StringVar(&f.saveRequests, "save-requests", "", "keep a copy of every encrypted request in this `folder`, for cpar inspect")
	jsonFlag(c, &f.asJSON)
	return c
}

func (f *annotateFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.parse(); err != nil {
		return err // before a passphrase is asked for
	}
	found, err := findPhotos(cmd, args, photos.Options{})
	if err != nil {
		return err
	}
	key, this, err := f.keys.read()
	if err != nil {
		return err
	}
	client, err := f.cloud.client()
	if err != nil {
		return err
	}
	id, err := f.cloud.id()
	if err != nil {
		return err
	}
	report := bar.On(cmd.ErrOrStderr())
	x, err := this.Open(cmd.Context(), client, key, device.OpenOptions{Index: id, Ready: f.ready, Progress: report})
	if err != nil {
		return err
	}
	f.notes(cmd, x)
	asked := make([]device.Photo, len(found))
	for i, p := range found {
		asked[i] = device.File(p.Path)
	}
	w := device.Walk{Params: f.params, Ranking: f.ranking, Progress: report}
	if f.saveRequests != "" {
		w.Sending = func(i int, q *cpar.Request) error { return saveRequest(f.saveRequests, i, q) }
	}
	all, broken := x.Annotate(cmd.Context(), asked, w)
	if !x.Scheme().CloudSearches() && broken == nil && !f.asJSON {
		fmt.Fprintln(cmd.ErrOrStderr(), "note: searched on this machine, bytes_sent 0")
	}
	// What is done is paid for, whatever came afterwards.
	if broken == nil || len(all) > 0 {
		if err := f.print(cmd, all); err != nil {
			return err
		}
	}
	if broken != nil {
		return broken
	}
	return failures(all)
}

// print prints what came of photos.
func (f *annotateFlags) print(cmd *cobra.Command, all []device.Annotated) error {
	out := make([]annotated, len(all))
	for i, a := range all {
		if out[i] = annotatedOf(a); !f.asJSON {
			out[i].print(cmd)
		}
	}
	if f.asJSON {
		return writeJSON(cmd.OutOrStdout(), out)
	}
	return nil
}

// failures is the error of photos that failed. A reply that was refused is none: what
// a script does after an exit code, the cloud may see.
func failures(all []device.Annotated) error {
	var first error
	failed := 0
	for _, a := range all {
		if a.Err != nil && !errors.Is(a.Err, user.ErrRefused) {
			failed++
			first = worse(first, fmt.Errorf("%s: %w", untrusted.Text(a.Photo), a.Err))
		}
	}
	return partly(failed, len(all), first)
}

// notes tells of what may surprise.
func (f *annotateFlags) notes(cmd *cobra.Command, x *device.Index) {
	if f.asJSON {
		return
	}
	if !user.Hides(x.Scheme()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: scheme %v shows the cloud distances and which photos are near; sealed shows neither (SECURITY.md)\n", x.Scheme())
	}
	if _, needed := x.Profile().Network(); !needed && cmd.Flags().Changed("model") {
		f.model.unused(cmd.ErrOrStderr(), x.Profile().Kind().String(), "")
	}
	if note := f.search.note(x.Manifest); note != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
	if x.Fetched > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s of the index were fetched; they are kept in the cache folder\n", size(x.Fetched))
	}
}

// parse refuses what can be known to be wrong before the index is opened.
func (f *annotateFlags) parse() error {
	var err error
	if f.ranking.Ranker, err = rank.ParseKind(f.ranker); err != nil {
		return err
	}
	if err := f.ranking.Check(); err != nil {
		return err
	}
	if f.ranking.Ranker == rank.KindPaper && f.ranking.MinProbability > 0 {
		return hint.Add(usageOf("--min-probability with --ranker paper, whose weights are no probabilities"), "leave out one of the two")
	}
	if f.ranking.Ranker == rank.KindPaper && f.ranking.Rare {
		return hint.Add(usageOf("--rare with --ranker paper, which knows no rare words"), "leave out one of the two")
	}
	if err := f.model.check(); err != nil {
		return err
	}
	return f.search.parse()
}

// ready refuses an index that cannot be asked as the flags say, before anything is
// asked.
func (f *annotateFlags) ready(o *user.Owner) error {
	if err := o.CheckRanking(f.ranking); err != nil {
		return err
	}
	_, err := f.model.forOwner(o)
	return err
}

// params are the search of an index that is open.
func (f *annotateFlags) params(x *device.Index) (cpar.Params, error) {
	neighbours := x.Ranker().Neighbours()
	if f.ranking.Ranker == rank.KindPaper {
		neighbours = rank.PaperNeighbours
	}
	return f.search.params(x.Manifest, neighbours)
}

// worse is the error to end with of two photos': one of the cloud's, or else the
// first.
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
	// Numbered, not named after the photo: people send these files around.
	return durable.WriteFile(filepath.Join(folder, fmt.Sprintf("request-%04d", i+1)), b, 0o600)
}

func (a *annotated) print(cmd *cobra.Command) {
	if a.Error != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", untrusted.Text(a.Photo), untrusted.Text(a.Error))
		return
	}
	width := 0
	for _, k := range a.Keywords {
		width = max(width, len(k.Word))
	}
	fmt.Fprintln(cmd.OutOrStdout(), untrusted.Text(a.Photo))
	for _, k := range a.Keywords {
		sure := fmt.Sprintf("%5.2f", k.Weight)
		if k.Probability > 0 {
			sure = fmt.Sprintf("%5s", percent(k.Probability))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "  %-*s  %s\n", width, k.Word, sure)
	}
}

// percent is a probability as people read it: never quite certain.
func percent(p float64) string {
	switch {
	case p < 0.01:
		return "<1 %"
	case p > 0.99:
		return ">99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*p)
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cpar/internal/sanitize"
	"cpar/model/wordvector"
	"cpar/photo"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/device"
)

// likeFlags name an index at a cloud, and control a search by likeness.
type likeFlags struct {
	askFlags
	half   wordsFlags
	photos []string // folders with the photos of the index, to name hits
	more   bool
	exact  bool
	most   int
}

// mostHits is the default maximum number of hits to print.
const mostHits = 100

func (f *likeFlags) add(c *cobra.Command) {
	f.keys.add(c)
	f.cloud.add(c)
	f.addLike(c)
	c.Flags().StringSliceVar(&f.photos, "photos", nil, "`folders` with photos of the index, to print their paths (the cloud sees a download that annotate does not make)")
}

// addLike adds the flags that do not name an index or its cloud.
func (f *likeFlags) addLike(c *cobra.Command) {
	f.cache.addAsking(c)
	f.half.addHalf(c, "for words that are no keywords of an index of profile clip")
	c.Flags().BoolVar(&f.more, "more", false, "also print photos that are likelier wrong than right")
	c.Flags().IntVar(&f.most, "most", mostHits, "maximum number of photos to print, 0 for no limit")
	c.Flags().BoolVar(&f.exact, "exact", false, "search all cells of an index (the cloud sees the number of requests)")
}

func (f *likeFlags) check() error {
	if f.most < 0 {
		return usageOf(fmt.Sprintf("--most %d; it must be at least 0", f.most))
	}
	if err := f.half.findHalf(); err != nil {
		return err
	}
	return f.cache.check()
}

// words returns a function that prepares a search for words.
func (f *likeFlags) words(ctx context.Context, a *asker, arguments ...string) (func(*user.Owner) (*user.Search, error), error) {
	q, err := wordvector.Parse(arguments...)
	if err != nil {
		return nil, err
	}
	vectors, err := f.half.textVectors(ctx, a.options.Cache, a.options.Progress)
	return func(o *user.Owner) (*user.Search, error) { return o.SearchWords(q, vectors) }, err
}

// photo returns a function that prepares a search for photos like the one in a
// file. With --verbose, it describes the network in `notes`.
func (f *likeFlags) photo(file []byte, notes io.Writer) func(*user.Owner) (*user.Search, error) {
	return func(o *user.Owner) (*user.Search, error) {
		if _, err := f.model.forOwner(o, notes); err != nil {
			return nil, err
		}
		return o.SearchLike(file)
	}
}

// search opens the index and searches it. It calls prepare before it sends
// anything that depends on the query. It calls locate, which may download a
// list of photos, before the request. After the reply, that download would tell
// the cloud whether the reply was accepted.
func (f *likeFlags) search(ctx context.Context, a *asker, prepare func(*user.Owner) (*user.Search, error), locate func(*device.Index) error) (found device.Found, err error) {
	x, err := a.open(ctx, func(o *user.Owner) error {
		_, err := prepare(o)
		return err
	})
	if err != nil {
		return found, err
	}
	var located *user.Owner
	return x.Search(ctx, func(o *user.Owner) (*user.Search, error) {
		s, err := prepare(o)
		if err == nil && located != o {
			located = o
			err = locate(x)
		}
		return s, err
	}, f.exact)
}

// shownOf returns the hits to print. With cut set and without --more, these are the
// likely ones.
func shownOf[H interface{ Likely() bool }](f *likeFlags, hits []H, cut bool) (shown []H, more int) {
	for _, h := range hits {
		if (f.more || !cut || h.Likely()) && (f.most == 0 || len(shown) < f.most) {
			shown = append(shown, h)
		}
	}
	return shown, len(hits) - len(shown)
}

// mostUnlikely is the maximum number of hits to print if none of them is likely.
const mostUnlikely = 3

// printed returns the hits to print as text, and where to print them. If no hit
// is likely, these are the most similar, on standard error because they are not
// a result.
func printed[H any](cmd *cobra.Command, f *likeFlags, shown, hits []H) ([]H, io.Writer) {
	if len(shown) > 0 || len(hits) == 0 {
		return shown, cmd.OutOrStdout()
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "nothing is likely; the most similar are:")
	return hits[:min(len(hits), mostUnlikely, cmp.Or(f.most, mostUnlikely))], cmd.ErrOrStderr()
}

// paths maps records of the index to paths of photos in --photos.
func (f *likeFlags) paths(cmd *cobra.Command, a *asker, x *device.Index) (map[uint32]string, error) {
	out := map[uint32]string{}
	if len(f.photos) == 0 {
		return out, nil
	}
	list, err := findPhotos(cmd, f.photos, photo.Options{})
	if err != nil {
		return nil, err
	}
	items := make([]dataset.Photo, len(list))
	for i, p := range list {
		items[i] = dataset.Photo{Name: p.Path, Path: p.Path}
	}
	opt := user.ContentOptions{Progress: a.options.Progress}
	opt.Memo, _ = f.cache.localStore(a.this, a.key) // without it, every photo is read
	listed, read, _, err := user.ReadContents(cmd.Context(), items, opt)
	if err != nil {
		return nil, err
	}
	locate, err := x.Locate(cmd.Context())
	if err != nil {
		return nil, err
	}
	for i, p := range listed {
		for _, record := range locate(p.Content) {
			if out[record] == "" {
				out[record] = read[i].Path
			}
		}
	}
	return out, nil
}

type foundRow struct {
	Record      uint32   `json:"record"`
	Photo       string   `json:"photo,omitempty"`
	Similarity  float64  `json:"similarity"`
	Probability float64  `json:"probability"`
	Likely      bool     `json:"likely"`
	Keywords    []string `json:"keywords"`
}

func foundRows(hits []user.Hit, paths map[uint32]string) []foundRow {
	rows := make([]foundRow, len(hits))
	for i, h := range hits {
		rows[i] = foundRow{h.Record, paths[h.Record], h.Similarity, h.Probability, h.Likely(), h.Keywords}
		if h.Keywords == nil {
			rows[i].Keywords = []string{}
		}
	}
	return rows
}

func (r *foundRow) print(out io.Writer) {
	name := cmp.Or(r.Photo, fmt.Sprintf("record %d", r.Record))
	fmt.Fprintf(out, "%4.0f %%  %s  %s\n", 100*r.Probability, sanitize.Text(name), sanitize.Text(strings.Join(r.Keywords, ", ")))
}

func searchCommand() *cobra.Command {
	var f likeFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "search WORDS…",
		Short: "find photos of an index by words, tagged or not",
		Long: `search finds the photos that look like those with a keyword. The query is the mean of these
photos' vectors, encrypted. It has the form of a request of cpar annotate for one photo,
so the cloud can tell neither the words nor the results, nor that it was asked for words.

  dog beach         photos like those with dog and like those with beach
  "old town"        a keyword of several words, or two words if no photo has it
  dog beach^2       beach counts twice
  "dog -party"      party is subtracted (after -- or in quotes, so that it is no flag)

Words are keywords of the index, with the synonyms of your vocabulary (cpar words). Other
words are refused before anything is sent, and similar keywords are named. An index of
profile clip accepts any word if --text-model names the text half of its network.

By default search prints photos that are likelier right than wrong, with the probability
that a person would tag them with the words, as estimated from your keywords. --more prints
the others, too, by similarity. An index does not hold names of files: --photos names
folders in which to look for the photos. They are recognised by their content.`,
		Example: `  $ cpar search dog beach --index family --photos photos/
    97 %  photos/2024/IMG_1704.jpg  beach, dog, sea
    61 %  photos/2021/IMG_0022.jpg  sand
  2 photos; 4498 others are likelier wrong (--more)
  $ cpar search "dog -party" --json`,
		Args: someArgs("words to look for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if _, err := wordvector.Parse(args...); err != nil {
				return err // before asking for a passphrase
			}
			a, err := f.asker(cmd)
			if err != nil {
				return err
			}
			prepare, err := f.words(cmd.Context(), &a, args...)
			if err != nil {
				return err
			}
			var paths map[uint32]string
			found, err := f.search(cmd.Context(), &a, prepare, func(x *device.Index) (err error) {
				paths, err = f.paths(cmd, &a, x)
				return err
			})
			if err != nil {
				return err
			}
			shown, more := shownOf(&f, found.Hits, true)
			rows := foundRows(shown, paths)
			return output(cmd, asJSON, struct {
				Hits []foundRow `json:"hits"`
				More int        `json:"more"`
			}{rows, more}, func() {
				text, out := printed(cmd, &f, shown, found.Hits)
				for _, r := range foundRows(text, paths) {
					r.print(out)
				}
				f.summary(cmd.ErrOrStderr(), len(shown), more)
			})
		},
	}
	f.add(c)
	f.cloud.addIndex(c)
	return jsonFlag(c, &asJSON)
}

func (f *likeFlags) summary(out io.Writer, shown, more int) {
	switch {
	case more == 0:
		fmt.Fprintln(out, photosOf(shown))
	case f.more || f.most > 0 && shown == f.most:
		fmt.Fprintf(out, "%s of %d; --most prints more\n", photosOf(shown), shown+more)
	default:
		fmt.Fprintf(out, "%s; %d others are likelier wrong (--more)\n", photosOf(shown), more)
	}
}

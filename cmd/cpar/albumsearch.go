package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/internal/settings"
	"cpar/photo/decode"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/album"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
	"cpar/user/device"
	"cpar/user/vocabulary"
)

type albumSearchFlags struct {
	albumFlags
	words, index string
	fetch        bool

	photo, text string // values of --like and --like-words
	like        likeFlags
}

func albumSearch() *cobra.Command {
	var f albumSearchFlags
	c := f.add(&cobra.Command{
		Use:   "search QUERY | search --like PHOTO | search --like-words WORDS",
		Short: "search the album on this device, or by likeness",
		Long: `search prints the photos that a query finds, with their dates and keywords. It searches
this device's copy of the catalogue, so the cloud sees nothing. --fetch first fetches what
other devices have added. A keyword followed by a question mark is a suggestion of cpar
that no person has accepted.

A vocabulary (cpar words) also finds synonyms and words below others. If this device has
made exactly one index with a vocabulary, that vocabulary applies. --index names another
index. The vocabulary is read from the folder of the index, so on a device without the
folder, pass --vocabulary FILE.

--like prints photos of the album that look like another, which is a file or a photo of the
album, and --like-words those that look like words, as cpar search does. Both ask the index
of --index at the cloud, which sees neither the photo nor the words, but sees that you
search. If --like names a photo of the album, the cloud also sees that its file is fetched.
Photos must be in the index. An additional QUERY leaves out the photos that it does not
find.

` + queries,
		Example: `  $ cpar album search 'dog beach 2024 -party'
  photos/2024/IMG_1704.jpg  2024-07-16  beach, dog, sea
  $ cpar album search --like photos/2024/IMG_1704.jpg --index family
  1.00  photos/2024/IMG_1704.jpg  2024-07-16  beach, dog, sea
  0.83  photos/2021/IMG_0022.jpg  2021-08-02  sand
  $ cpar album search --like-words 'dog beach' --index family`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.photo != "" || f.text != "" {
				return nil
			}
			return someArgs("a query")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.photo != "" || f.text != "" {
				return f.likeness(args)
			}
			v, err := f.vocabulary()
			if err != nil {
				return err
			}
			kept, _, photos, err := f.found(args, f.fetch, false, v)
			if err != nil {
				return err
			}
			rows := albumRows(photos)
			return output(cmd, f.asJSON, rows, func() {
				printRows(cmd.OutOrStdout(), rows)
				fmt.Fprintln(cmd.ErrOrStderr(), photosOf(len(rows)))
				if len(rows) == 0 {
					suggestFolder(cmd, kept, args)
				}
			})
		},
	})
	c.Flags().BoolVar(&f.fetch, "fetch", false, "first fetch what other devices have added")
	c.Flags().StringVar(&f.words, "vocabulary", "", "`file` with a vocabulary, instead of the one of an index; none for no vocabulary")
	c.Flags().StringVar(&f.index, "index", "", indexUsage+", whose vocabulary applies, and which --like and --like-words ask")
	c.Flags().StringVar(&f.photo, "like", "", "find photos like this one, a `file` or the path of a photo in the album")
	c.Flags().StringVar(&f.text, "like-words", "", "find photos that look like these `words`, tagged or not")
	f.like.model.add(c)
	f.like.addLike(c)
	return c
}

// suggestFolder prints a query for a folder of the album if a word or argument
// of a query without results names that folder.
func suggestFolder(cmd *cobra.Command, kept *album.Album, args []string) {
	words := map[string]bool{}
	for _, w := range append(strings.Fields(strings.Join(args, " ")), args...) {
		words[metadata.Fold(strings.Trim(w, `"`))] = true
	}
	for _, p := range kept.Find(query.All, false) {
		at := ""
		for name := range strings.SplitSeq(p.Folder, "/") {
			at = path.Join(at, name)
			if !words[metadata.Fold(name)] {
				continue
			}
			if strings.Contains(at, " ") {
				at = `"` + at + `"`
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "hint: a folder of the album has this name: cpar album search %s\n", shellWord("folder:"+at))
			return
		}
	}
}

// A likeRow is a photo of the album that a search by likeness found.
type likeRow struct {
	albumRow
	Similarity  float64 `json:"similarity"`
	Probability float64 `json:"probability,omitempty"`
	Likely      bool    `json:"likely,omitempty"`
}

// likeness searches the album for photos like another, or like words.
func (f *albumSearchFlags) likeness(args []string) error {
	ctx, warn := f.cmd.Context(), f.cmd.ErrOrStderr()
	if f.photo != "" && f.text != "" {
		return usageOf("--like and --like-words exclude each other")
	}
	if err := cmp.Or(f.like.check(), f.like.model.Check()); err != nil {
		return err
	}
	v, err := f.vocabulary()
	if err != nil {
		return err
	}
	kept, _, photos, err := f.found(args, f.fetch, false, v)
	if err != nil {
		return err
	}
	f.like.keys, f.like.cloud, f.like.cloud.index = f.keys, f.cloud, f.index // the key is already open
	a, err := f.like.asker(f.cmd)
	if err != nil {
		return err
	}
	var prepare func(*user.Owner) (*user.Search, error)
	if f.text != "" {
		prepare, err = f.like.words(ctx, &a, f.text)
	} else {
		prepare, err = f.likePhoto(kept)
	}
	if err != nil {
		return err
	}
	var records *album.Records
	found, err := f.like.search(ctx, &a, prepare, func(x *device.Index) error {
		locate, err := x.Locate(ctx)
		if err == nil {
			records = album.NewRecords(photos, locate)
		}
		return err
	})
	if err != nil {
		return err
	}
	matches := records.Matches(found.Hits)
	shown, more := shownOf(&f.like, matches, f.text != "")
	rows := []likeRow{}
	for _, m := range shown {
		rows = append(rows, likeRow{albumRows([]*catalogue.Photo{m.Photo})[0], m.Similarity, m.Probability, f.text != "" && m.Likely()})
	}
	if records.Lacking > 0 {
		fmt.Fprintf(warn, "note: %s lack a digest, so that no search by likeness finds them; cpar album add PHOTOS computes it\n", photosOf(records.Lacking))
	}
	if records.Unindexed > 0 {
		fmt.Fprintf(warn, "note: the index does not have %s of the album; cpar add --untagged adds them\n", photosOf(records.Unindexed))
	}
	return output(f.cmd, f.asJSON, struct {
		Photos    []likeRow `json:"photos"`
		More      int       `json:"more"`
		Lacking   int       `json:"lacking_digest"`
		Unindexed int       `json:"not_in_index"`
	}{rows, more, records.Lacking, records.Unindexed}, func() {
		text, out := printed(f.cmd, &f.like, shown, matches)
		for _, m := range text {
			score := fmt.Sprintf("%.2f", m.Similarity)
			if f.text != "" {
				score = fmt.Sprintf("%4.0f %%", 100*m.Probability)
			}
			fmt.Fprintf(out, "%s  %v\n", score, albumRows([]*catalogue.Photo{m.Photo})[0])
		}
		f.like.summary(warn, len(rows), more)
	})
}

// likePhoto reads the photo of --like, and returns a function that prepares the
// search. If the photo is not a file of this device, it is fetched from the album.
func (f *albumSearchFlags) likePhoto(kept *album.Album) (func(*user.Owner) (*user.Search, error), error) {
	file := f.photo
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		all := kept.Find(query.All, false)
		i := slices.IndexFunc(all, func(p *catalogue.Photo) bool { return p.Path() == path.Clean(f.photo) })
		if i < 0 {
			return nil, hint.Add(fmt.Errorf("searching by likeness: %w: there is neither a file nor a photo of the album named %s", cpar.ErrInput, sanitize.Text(f.photo)),
				"cpar album search prints paths of photos; --fetch first fetches what other devices have added")
		}
		alone := *all[i]
		alone.Files = alone.Files[:min(1, len(alone.Files))]
		folder, remove, err := kept.Fetch(f.cmd.Context(), []*catalogue.Photo{&alone})
		if err != nil {
			return nil, err
		}
		defer remove()
		file = filepath.Join(folder, filepath.FromSlash(alone.Path()))
	}
	data, err := decode.ReadFile(file)
	return f.like.photo(data, f.cmd.ErrOrStderr()), err
}

// vocabulary returns the vocabulary of a file, of the index that was named, or
// of the only index with a vocabulary. It sends nothing to the cloud.
func (f *albumSearchFlags) vocabulary() (*vocabulary.Vocabulary, error) {
	named := f.cmd.Flags().Changed("index")
	switch {
	case f.words != "" && named:
		return nil, usageOf("--vocabulary and --index exclude each other")
	case f.words == settings.None:
		return &vocabulary.Vocabulary{}, nil
	case f.words != "":
		return readVocabulary(f.words)
	}
	if f.index != "" {
		o, _, err := openIndexOf(&f.keys, f.index)
		if err == nil {
			return o.Vocabulary(), nil
		}
		if named { // a setting may name an index that has no folder on this device
			return nil, err
		}
	}
	key, this, err := f.keys.read()
	if err != nil {
		return nil, err
	}
	all, err := this.Vocabularies(key)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		resolved(f.cmd, "%d indexes have a vocabulary, and none of them applies; --index names one", len(all))
		return &vocabulary.Vocabulary{}, nil
	}
	for _, v := range all {
		return v, nil
	}
	return &vocabulary.Vocabulary{}, nil
}

package main

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/user/album"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
	"cpar/user/device"
	"cpar/user/library"
)

// albumBatch is the maximum number of fetched photos on the disk at once.
const albumBatch = 200

// annotatedAlbum is the JSON output of annotate --album.
type annotatedAlbum struct {
	Photos   int  `json:"photos"` // photos without keywords
	Found    int  `json:"suggested_photos"`
	Keywords int  `json:"suggested_keywords"`
	Failed   int  `json:"failed"`
	DryRun   bool `json:"dry_run"`
}

// annotateAlbum finds keywords for photos of the album that have none, and
// records them in the catalogue as suggestions. Photos are fetched in batches
// into a private folder.
func (f *annotateFlags) annotateAlbum(cmd *cobra.Command, words []string) error {
	q, err := query.Parse(strings.Join(words, " "), nil)
	if err != nil {
		return err
	}
	a, err := f.asker(cmd)
	if err != nil {
		return err
	}
	store := blobs.Cloud{Client: a.client, Album: album.ID(a.key)}
	kept, err := album.Open(cmd.Context(), album.Options{Store: store, Key: a.key, Device: a.this})
	if err == nil {
		err = kept.Sync(cmd.Context())
	}
	if err != nil {
		return err
	}
	var todo []*catalogue.Photo
	for _, p := range kept.Find(q, false) {
		if len(p.Keywords) == 0 {
			todo = append(todo, p)
		}
	}
	sum := annotatedAlbum{Photos: len(todo), DryRun: f.options.DryRun}
	var failed error
	if !sum.DryRun && len(todo) > 0 {
		f.tell = unlessJSON(cmd, f.asJSON)
		x, err := a.open(cmd.Context(), f.ready)
		if err != nil {
			return err
		}
		f.notes(cmd, x)
		o := f.wanted(x)
		o.Params, o.AllCells, o.Ranker, o.Rare = f.params, f.exact, f.ranking.Ranker, f.ranking.Rare
		for done := 0; done < len(todo); done += albumBatch {
			bar.On(cmd.ErrOrStderr()).Report("annotating", done, len(todo))
			some := todo[done:min(done+albumBatch, len(todo))]
			found, failures, first, err := askForAlbum(cmd, kept, x, some, o)
			if err == nil && len(found) > 0 {
				err = kept.Suggest(cmd.Context(), found)
			}
			if err != nil {
				return err
			}
			sum.Failed += failures
			failed = cmp.Or(failed, first)
			for _, list := range found {
				sum.Found++
				sum.Keywords += len(list)
			}
		}
	}
	err = output(cmd, f.asJSON, sum, func() {
		out := cmd.OutOrStdout()
		if sum.DryRun {
			fmt.Fprintf(out, "would ask about %s without keywords\n", photosOf(sum.Photos))
			return
		}
		fmt.Fprintf(out, "suggested %s for %d of %s without keywords\n", counted(sum.Keywords, "keyword"), sum.Found, photosOf(sum.Photos))
	})
	if err != nil || sum.Failed == 0 {
		return err
	}
	return partly(sum.Failed, sum.Photos, failed)
}

// askForAlbum fetches photos of the album, asks about them, and returns the
// keywords found, by path, the number of photos that failed, and the first failure.
func askForAlbum(cmd *cobra.Command, a *album.Album, x *device.Index, photos []*catalogue.Photo, o library.Options) (found map[string][]catalogue.Keyword, failed int, first, err error) {
	dir, remove, err := a.Fetch(cmd.Context(), photos)
	if err != nil {
		return nil, 0, nil, err
	}
	defer remove()
	list := make([]photo.Photo, len(photos))
	path := map[string]string{}
	for i, p := range photos {
		list[i] = photo.Photo{Path: filepath.Join(dir, filepath.FromSlash(p.Path()))}
		path[list[i].Path] = p.Path()
	}
	found = map[string][]catalogue.Keyword{}
	sum, err := library.Ask(cmd.Context(), x, list, o, func(r library.Result) {
		tellCutShort(cmd, path[r.Path], &r)
		if r.Err != nil && first == nil {
			first = fmt.Errorf("%s: %w", sanitize.Text(path[r.Path]), r.Err)
		}
		for _, k := range r.Keywords {
			found[path[r.Path]] = append(found[path[r.Path]], catalogue.Keyword{Word: k.Word, Source: catalogue.Suggested, Probability: uint8(math.Round(100 * k.Probability))})
		}
	})
	return found, sum.Failed, first, err
}

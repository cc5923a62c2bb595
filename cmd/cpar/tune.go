package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cpar/internal/progress/bar"
	"cpar/model/profile"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/tune"
)

type tuneFlags struct {
	keys   keyFlags
	model  modelFlags
	text   wordsFlags
	cache  cacheFlags
	people bool
	asJSON bool
}

// tuned is the JSON output of tune.
type tuned struct {
	*tune.Tuning
	// Encoder describes the embedding taken from the image network.
	Encoder    *usedNetwork          `json:"encoder,omitempty"`
	Duplicates []user.NamedDuplicate `json:"duplicates"`
	Skipped    []user.Skipped        `json:"skipped"`
	Warnings   []dataset.Warning     `json:"warnings"`
	peopleLeftOut
}

func tuneCommand() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:   "tune COLLECTION",
		Short: "find the profile and ranker that suit a collection",
		Long: `tune tries the profiles of cpar build on your own collection: it hides the keywords of some
photos, predicts them from the others, and compares. Nothing is sent. With a key, features
and results are kept encrypted in your cache folder, so that cpar build --profile auto need
not repeat the work. Without a key nothing is written.

For each profile and ranker it prints, with 5 keywords per photo:

  right          share of the predicted keywords that are right, averaged over words
                 (precision, P in the JSON output)
  found          share of your keywords that are predicted, averaged over words (recall, R)
  words          number of your words found at least once, and of all (N+)
  you            time per photo on this machine before encryption
  capia, sealed  the size of an index of the collection in these schemes
  cloud          time of a scan for one photo at a cloud of scheme capia, on one core
                 like yours

It recommends the best harmonic mean of right and found, or the cheapest of several
profiles whose difference may be chance. Profile network is tried with the network inside
cpar or the one that --model names, and not with --model none. Profile clip is tried with
--text-model. Projections are always tested on photos that they were not learnt from. tune
uses at most 4000 photos and takes minutes for a few thousand.`,
		Example: `  $ cpar tune photos/ --model mobilenetv2-12.onnx
  $ cpar build photos/ --profile auto --out family.index      (tune, and build what it recommends)`,
		Args: oneArg("the folder of a collection"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.model.add(c)
	f.text.addHalf(c, "to try profile clip")
	f.keys.add(c)
	f.cache.add(c)
	peopleFlag(c, &f.people)
	return jsonFlag(c, &f.asJSON)
}

func (f *tuneFlags) run(cmd *cobra.Command, folder string) error {
	if err := errors.Join(f.model.Check(), f.text.findHalf()); err != nil {
		return err
	}
	f.model.orBundled()
	opt := user.ReadOptions{Progress: bar.On(cmd.ErrOrStderr())}
	var err error
	if f.model.path != "" {
		if opt.Network, err = f.model.open(unlessJSON(cmd, f.asJSON)); err != nil {
			return err
		}
	}
	collection, err := dataset.Open(cmd.Context(), folder, dataset.Options{IncludePeople: f.people, Progress: opt.Progress})
	if err != nil {
		return err
	}
	opt.Warnings = &collection.Warnings
	keep, err := f.keep(&opt)
	if err != nil {
		return err
	}
	images, duplicates, skipped, err := user.ReadDistinctPhotos(cmd.Context(), collection.Photos, opt)
	if err != nil {
		return err
	}
	o := tune.Options{Photos: collection.Photos, Network: opt.Network, Keep: keep, Progress: opt.Progress}
	if o.Text, err = f.text.vectors(cmd.Context(), &f.model, opt.Cache, opt.Progress); err != nil {
		return err
	}
	t, err := tune.Tune(cmd.Context(), images, o)
	if err != nil {
		return err
	}
	r := &tuned{Tuning: t, Duplicates: duplicates, Skipped: append([]user.Skipped{}, skipped...), Warnings: append([]dataset.Warning{}, collection.Warnings...), peopleLeftOut: peopleLeftOut{collection.People}}
	if f.model.opened != nil {
		r.Encoder = describe(f.model.opened)
	}
	return output(cmd, f.asJSON, r, func() {
		tellCollection(cmd, collection)
		printSkipped(cmd, r.Skipped)
		printDuplicates(cmd, r.Duplicates)
		r.print(cmd.OutOrStdout())
		model := ""
		if p := t.Recommended.Profile; (p == profile.Network || p == profile.Clip) && !f.model.isDefault() {
			model = f.model.again()
		}
		if t.Recommended.Profile == profile.Clip {
			model += " --text-model " + shellWord(f.text.model)
		}
		f.model.worthIt(cmd.ErrOrStderr())
		next(cmd, "cpar build %s --scheme %v --profile %v --ranker %v%s --out FOLDER.index", shellWord(folder), user.DefaultScheme, t.Recommended.Profile, t.Recommended.Ranker, model)
	})
}

// keep opens the encrypted store of features and earlier results. It does
// nothing if there is no key.
func (f *tuneFlags) keep(opt *user.ReadOptions) (user.Memo, error) {
	if err := f.cache.check(); err != nil {
		return nil, err
	}
	path, err := f.keys.file()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil && f.keys.path == "" && f.cache.folder == "" {
		return nil, nil
	}
	var key *user.Key
	var this *device.Device
	if f.cache.folder == "" {
		if key, this, err = f.keys.read(); err != nil {
			return nil, err
		}
	}
	if opt.Cache, err = f.cache.open(this, key); err != nil {
		return nil, err
	}
	return f.cache.localStore(this, key)
}

func (r *tuned) print(out io.Writer) {
	fmt.Fprintf(out, "%d of %s were asked, %s each\n\n", r.Rows[0].Photos, photosOf(r.Photos), counted(r.Rows[0].Keywords, "keyword"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "profile\tranker\tright\tfound\twords\tyou\tcapia\tsealed\tcloud\t")
	for _, row := range r.Rows {
		you, cloud := "?", "<0.01 ms" // "?" if no photo could be read again, "<0.01 ms" if there are few photos
		if row.OwnerMS > 0 {
			you = fmt.Sprintf("%.0f ms", row.OwnerMS)
		}
		if row.CloudMS >= 0.01 {
			cloud = fmt.Sprintf("%.2f ms", row.CloudMS)
		}
		fmt.Fprintf(w, "%v\t%v\t%.1f %%\t%.1f %%\t%.0f of %.0f\t%s\t%s\t%s\t%s\t\n", row.Profile, row.Ranker, row.P, row.R, row.Nplus, row.Words,
			you, size(row.IndexBytes.CAPIA), size(row.IndexBytes.Sealed), cloud)
	}
	w.Flush()
	fmt.Fprintf(out, "\nright: share of the predicted keywords that are right; found: share of your keywords that are predicted;\nwords: how many of your words are found at least once; you, cloud: time for a photo;\ncapia, sealed: an index of these photos in that scheme\n\n")
	for _, l := range r.LeftOut {
		fmt.Fprintf(out, "left out profile %v: %s\n", l.Profile, l.Reason)
	}
	fmt.Fprintf(out, "recommended: profile %v, ranker %v\n  %s\n", r.Recommended.Profile, r.Recommended.Ranker, r.Reason)
}

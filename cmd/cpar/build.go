package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/progress/bar"
	"cpar/user"
	"cpar/user/dataset"
	"cpar/user/feature"
)

type buildFlags struct {
	keys            keyFlags
	model           modelFlags
	out, cache      string
	scheme, order   string
	profile, ranker string
	split, place    string
	pca, trees      int
	block           int
	lists           int
	strict, dryRun  bool
	asJSON          bool
}

// built is what build prints.
type built struct {
	Index   string `json:"index,omitempty"`
	ID      string `json:"id,omitempty"`
	Scheme  string `json:"scheme"`
	Profile string `json:"profile"`
	Ranker  string `json:"ranker"`
	// Dimensions is Owner.Dimensions, Neighbours Owner.Neighbours.
	Dimensions int    `json:"dimensions,omitempty"`
	Neighbours int    `json:"neighbours,omitempty"`
	Network    string `json:"network,omitempty"`
	// Validation is what cross-validation said, Tuning why profile auto chose.
	Validation *user.Validation `json:"validation,omitempty"`
	Tuning     *user.Tuning     `json:"tuning,omitempty"`

	Images   int               `json:"images"`
	Keywords int               `json:"keywords"`
	Bytes    uint64            `json:"bytes,omitempty"`
	Fields   uint32            `json:"split_fields,omitempty"`
	Clamped  int               `json:"clamped"`
	Choice   *user.Choice      `json:"choice,omitempty"`
	Skipped  []user.Skipped    `json:"skipped"`
	Warnings []dataset.Warning `json:"warnings"`
	DryRun   bool              `json:"dry_run"`
}

func buildCommand() *cobra.Command {
	var f buildFlags
	c := &cobra.Command{
		Use:   "build COLLECTION",
		Short: "encrypt an annotated collection into an index",
		Long: `build reads a collection of photos that have keywords, and encrypts it into an
index: a folder that can be pushed to a cloud. The collection is not changed.

A collection is a folder with a manifest.csv (path,keywords with keywords
separated by ;), or any folder whose JPEG files carry IPTC or XMP keywords.

--profile says what of a photo is compared. paper: colours and textures, as they
are. learned: the same, in a few directions that are learnt from your keywords; the
index is smaller. network: what an image network sees (--model), in directions
learnt likewise. auto: what cpar tune recommends for the collection. Profiles learned
and network rank keywords by probability, and paper does with --ranker calibrated.

Photos that cannot be used are named, counted and left out; --strict stops at
the first. Features are kept in a cache, so an interrupted build goes on where
it stopped. An index that --out holds already stays whole until the new one is.`,
		Example: `  $ cpar build photos/ --key family.key --out family.index
  encrypted 4500 photos with 371 keywords into family.index (68 MB), 0 left out
  index 3a9d33fd4c9e228a4994b0d476c91826
  profile paper, ranker paper
  note: schemes cpar and capia protect a collection that the cloud knows nothing of…

  $ cpar build photos/ --profile network --model mobilenet.onnx --scheme sealed --key family.key --out family.index`,
		Args: oneArg("the folder of a collection"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.keys.add(c)
	f.model.add(c)
	c.Flags().StringVar(&f.profile, "profile", "paper", "what of a photo is compared: paper, learned, network (needs --model), or auto: try them and choose")
	c.Flags().StringVar(&f.ranker, "ranker", "default", "what ranks keywords: paper (weights W_t), calibrated (probabilities), or default: paper for profile paper, else calibrated")
	c.Flags().StringVar(&f.out, "out", "", "`folder` of the index (required)")
	c.Flags().StringVar(&f.scheme, "scheme", "cpar", "cpar (encrypted forest and inverted file), capia (linear scan), sealed (the cloud sees no distance), local (fetched once, searched at home), or auto: measure and choose")
	c.Flags().StringVar(&f.order, "order", "rank", "order ciphertexts: rank (dense ranks) or ope (the paper's, which leaks approximate values)")
	c.Flags().IntVar(&f.pca, "pca", defaultPCA, "of profile paper: reduce haar and haarq by this factor: 8, 16, 32, 64 or 128")
	c.Flags().IntVar(&f.trees, "trees", 10, "trees of the forest; 0 for no forest")
	c.Flags().StringVar(&f.split, "split", "pca", "space of the forest's planes: pca (principal components) or original (the paper's)")
	c.Flags().StringVar(&f.place, "place", "leaf", "records in the leaves of a tree (leaf) or at every node (node, the paper's)")
	c.Flags().IntVar(&f.block, "block", 0, "block width of scheme sealed, 64 to 256: wider blocks make requests smaller and what is fetched once larger (default 128)")
	c.Flags().IntVar(&f.lists, "lists", defaultLists, "lists of the inverted file; 0 for none (default by the number of photos)")
	c.Flags().BoolVar(&f.strict, "strict", false, "stop at the first photo that cannot be used")
	c.Flags().StringVar(&f.cache, "cache", defaultCache(), "`folder` that keeps features between runs; empty for none")
	dryRunFlag(c, &f.dryRun)
	jsonFlag(c, &f.asJSON)
	return c
}

// schemeAuto and profileAuto have build measure and choose.
const schemeAuto, profileAuto = "auto", "auto"

// defaultLists stands for a number that goes with the collection's size.
const defaultLists = -1

const defaultPCA = 32

func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cpar", "features")
}

func (f *buildFlags) options(w io.Writer) (user.BuildOptions, error) {
	opt := user.BuildOptions{Strict: f.strict}
	opt.PCA, opt.Trees, opt.Block, opt.Progress = f.pca, f.trees, f.block, bar.On(w)
	var err error
	if f.scheme != schemeAuto {
		if opt.Scheme, err = cpar.ParseScheme(f.scheme); err != nil {
			return opt, hint.Add(err, "or --scheme auto, which measures and chooses")
		}
	}
	if f.profile != profileAuto {
		if opt.Profile, err = user.ParseProfile(f.profile); err != nil {
			return opt, hint.Add(err, "or --profile auto, which tries them and chooses")
		}
	}
	if opt.Ranker, err = user.ParseRanker(f.ranker); err != nil {
		return opt, err
	}
	if f.profile == profileAuto && opt.Ranker != user.RankerDefault {
		return opt, hint.Add(usageOf("profile auto chooses the ranker, too"), "leave --ranker out, or name a profile")
	}
	if !slices.Contains(user.PCAFactors, f.pca) {
		return opt, fmt.Errorf("%w: --pca %d; there are %v", cpar.ErrInput, f.pca, user.PCAFactors)
	}
	if f.pca != defaultPCA && opt.Profile != user.ProfilePaper {
		return opt, hint.Add(fmt.Errorf("%w: --pca %d is of profile paper; profile %v finds its dimensions itself", cpar.ErrInput, f.pca, opt.Profile), "leave --pca out")
	}
	if f.trees < 0 || f.trees > 64 {
		return opt, fmt.Errorf("%w: --trees %d; 0 to 64 are possible", cpar.ErrInput, f.trees)
	}
	if f.trees == 0 {
		opt.Trees = user.None
	}
	switch {
	case f.lists < defaultLists:
		return opt, fmt.Errorf("%w: --lists %d", cpar.ErrInput, f.lists)
	case f.lists == 0:
		opt.Lists = user.None
	case f.lists > 0:
		opt.Lists = f.lists
	}
	if opt.Split, err = user.ParseSplitSpace(f.split); err != nil {
		return opt, err
	}
	if opt.Place, err = cpar.ParsePlace(f.place); err != nil {
		return opt, err
	}
	switch f.order {
	case "rank":
		opt.Order = user.OrderRank
	case "ope":
		opt.Order = user.OrderOPE
	default:
		return opt, fmt.Errorf("%w: --order %q; there are rank and ope", cpar.ErrInput, f.order)
	}
	if err := f.model.check(); err != nil {
		return opt, err
	}
	// Opened before the long work, also where nothing will be computed with it.
	if opt.Profile == user.ProfileNetwork || f.profile == profileAuto && f.model.path != "" {
		network, err := f.model.open()
		if err != nil {
			return opt, err
		}
		if !f.dryRun {
			opt.Network = network
		}
	} else if f.model.path != "" && !f.asJSON {
		f.model.unused(w, f.profile, "; pass --profile network to use it")
	}
	if f.cache != "" && !f.dryRun {
		if opt.Cache, err = feature.OpenCache(f.cache); err != nil {
			return opt, hint.Add(err, "pass --cache FOLDER, or --cache= for none")
		}
	}
	return opt, nil
}

func (f *buildFlags) run(cmd *cobra.Command, folder string) error {
	if f.out == "" && !f.dryRun {
		return hint.Add(exitcode.UsageError(fmt.Errorf("building: no folder for the index was named")), "pass --out FOLDER")
	}
	opt, err := f.options(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	collection, err := dataset.Open(folder, dataset.Options{Strict: f.strict})
	if err != nil {
		return err
	}
	key, err := f.keys.read()
	if err != nil && !(f.dryRun && errors.Is(err, cpar.ErrKey)) {
		return err
	}
	if err := f.checkOut(); err != nil {
		return err
	}
	result, err := f.build(cmd.Context(), key, collection, opt)
	if err != nil {
		return err
	}
	return output(cmd, f.asJSON, result, func() {
		result.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), collection)
		if !f.dryRun {
			next(cmd, "cpar push %s --cloud http://127.0.0.1:8080 (where cpard serves)", f.out)
		}
	})
}

// checkOut finds out before the long work whether an index can go to --out. A
// folder that does not exist is left to the end.
func (f *buildFlags) checkOut() error {
	if info, err := os.Stat(f.out); f.dryRun || err != nil || !info.IsDir() {
		return nil
	}
	w, err := indexdir.Create(f.out, indexdir.Options{})
	if err != nil {
		return fmt.Errorf("building into %s: %w", f.out, err)
	}
	return w.Close()
}

// build reads the photos and makes the index of them.
func (f *buildFlags) build(ctx context.Context, key *user.Key, collection *dataset.Collection, opt user.BuildOptions) (*built, error) {
	images, skipped, err := user.ReadImages(ctx, collection.Items, opt)
	if err != nil {
		return nil, err
	}
	words := map[string]bool{}
	for _, im := range images {
		for _, w := range im.Keywords {
			words[w] = true
		}
	}
	r := &built{Images: len(images), Keywords: len(words), Scheme: f.scheme, Profile: f.profile, Ranker: f.ranker,
		Skipped: append([]user.Skipped{}, skipped...), Warnings: append([]dataset.Warning{}, collection.Warnings...), DryRun: f.dryRun}
	if f.dryRun {
		return r, nil
	}
	user.Shuffle(images)
	if f.profile == profileAuto {
		if r.Tuning, err = user.Tune(ctx, images, user.TuneOptions{PCA: opt.PCA, Items: collection.Items, Network: opt.Network, Progress: opt.Progress}); err != nil {
			return nil, err
		}
		opt.Options = r.Tuning.Apply(opt.Options)
	}
	var b *user.Builder
	if f.scheme == schemeAuto {
		b, r.Choice, err = user.Choose(ctx, key, images, opt.Options)
	} else {
		b, err = user.Setup(ctx, key, images, opt.Options)
	}
	if err != nil {
		return nil, err
	}
	m, err := b.Encrypt(ctx, f.out)
	if err != nil {
		return nil, err
	}
	r.Index, r.ID, r.Bytes, r.Fields, r.Clamped = f.out, m.ID.String(), m.Bytes(), m.Fields, b.Clamped
	r.Scheme, r.Profile, r.Ranker = m.Scheme.String(), b.Profile().String(), b.Ranker().String()
	r.Dimensions, r.Neighbours, r.Validation = b.Dimensions(), b.Neighbours(), b.Validation
	if digest, ok := b.NetworkDigest(); ok {
		r.Network = fmt.Sprintf("%x", digest)
	}
	return r, nil
}

// protects is said once when an index of a scheme is built.
func protects(scheme, profile string) string {
	switch {
	case scheme == cpar.SchemeSealed.String():
		return protectsSealed
	case scheme == cpar.SchemeLocal.String():
		return protectsLocal
	case profile != user.ProfilePaper.String():
		return protectsNothing
	}
	return protectsVisible
}

const protectsSealed = `note: scheme sealed hides photos, keywords, requests and all distances from the cloud,
which learns how many photos there are, when you ask, and when and how much you
update; what you publish of the results it does not hide. See SECURITY.md.`

const protectsLocal = `note: scheme local hides all but how many photos there are and when you fetch or
update them: the cloud keeps the index and is asked nothing. See SECURITY.md.`

const protectsVisible = `note: schemes cpar and capia protect a private collection from a cloud that knows
none of it and cannot guess it, and no more: the cloud sees how near photos are to
each request. A cloud that knows some of your photos can learn about the others, and
one that guesses a public collection can match it. See SECURITY.md.`

const protectsNothing = `note: with profiles learned and network, schemes cpar and capia are for measuring only.
Vectors so short can be read from the encrypted index by lattice reduction, with
nothing else known: whoever copies it learns which of your photos are alike. Build
with --scheme sealed or local, which hide them. See SECURITY.md.`

func (r *built) print(out, notes io.Writer, c *dataset.Collection) {
	if s := c.Summary(); s != "" {
		fmt.Fprintln(notes, s)
	}
	printSkipped(notes, r.Skipped)
	if r.DryRun {
		fmt.Fprintf(out, "would encrypt %d photos with %d keywords, %d left out; nothing was written\n", r.Images, r.Keywords, len(r.Skipped))
		return
	}
	fmt.Fprintf(out, "encrypted %d photos with %d keywords into %s (%s), %d left out\n", r.Images, r.Keywords, r.Index, size(r.Bytes), len(r.Skipped))
	fmt.Fprintf(out, "index %s\n", r.ID)
	fmt.Fprintf(out, "profile %s, ranker %s", r.Profile, r.Ranker)
	if r.Profile != user.ProfilePaper.String() {
		fmt.Fprintf(out, ", %d dimensions", r.Dimensions)
	}
	if r.Tuning != nil {
		fmt.Fprintf(out, ": %s", r.Tuning.Reason)
	}
	fmt.Fprintln(out)
	if v := r.Validation; v != nil {
		fmt.Fprintf(out, "cross-validation, %d keywords a photo: precision P %.1f %%, recall R %.1f %%, N+ %.0f of %.0f words\n", v.Keywords, v.P, v.R, v.Nplus, v.Words)
	}
	if c := r.Choice; c != nil {
		fmt.Fprintf(out, "scheme %s", c.Scheme)
		if c.Search != "" {
			fmt.Fprintf(out, ", search %s", c.Search)
		}
		fmt.Fprintf(out, ": %s\n", c.Reason)
	}
	fmt.Fprintln(notes, protects(r.Scheme, r.Profile))
}

func printSkipped(notes io.Writer, skipped []user.Skipped) {
	for i, s := range skipped {
		if i == 10 {
			fmt.Fprintf(notes, "… and %d more\n", len(skipped)-i)
			break
		}
		fmt.Fprintf(notes, "left out %s: %s\n", s.Name, s.Reason)
	}
}

func size(n uint64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1_000_000)
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/leakage"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/tune"
)

type buildFlags struct {
	keys            keyFlags
	model           modelFlags
	cache           cacheFlags
	text            wordsFlags
	out, name       string
	scheme, orderBy string
	profile, ranker string
	split, place    string
	pca, dim, trees int
	block           int
	careful         bool
	clusters        int
	lists           int
	strict, dryRun  bool
	replace, people bool
	vocabulary      string
	asJSON          bool
}

func buildCommand() *cobra.Command {
	var f buildFlags
	c := &cobra.Command{
		Use:   "build COLLECTION",
		Short: "encrypt an annotated collection into an index",
		Long: `build reads a collection of photos with keywords and encrypts it into an index: a folder
that can be pushed to a cloud. It never changes the collection.

A collection is a folder with a manifest.csv (path,keywords with keywords separated by ;),
or any folder of photos with keywords in them or in sidecars, as photo programs write
them. build also reads the published data sets SAIAPR TC-12 (labels), IAPR TC-12 (words of
descriptions), LabelMe, COCO, Open Images and the LEAR packs. cpar dataset inspect shows
the format of a folder.

With the default scheme, sealed, the cloud scores every photo but cannot read the scores.
Schemes that show it the distances must be allowed for the key: cpar key allow.

--profile chooses how photos are compared. network uses an image network and a projection
learnt from your keywords. learned uses colours and textures and such a projection. paper
uses colours and textures alone. clip uses a CLIP-like network with its text half (--model
and --text-model), learns nothing from keywords, and lets cpar search find any word. The
default is network, with the image network that --model names (cpar model list has some) or
the small one inside cpar, which needs twenty photos with keywords. Without an image
network the default is learned if a hundred photos have keywords, otherwise paper. auto
follows the recommendation of cpar tune. Profiles learned and network rank keywords by
probability, and so does paper with --ranker calibrated.

Unusable photos are named, counted and left out, and the exit code is 0 because the index
is complete without them. --strict stops at the first (exit code 3). Photos
with the same content count as one, with the keywords of all. A photo has at most 31
keywords. Features are kept in your cache folder, encrypted under your key, so an
interrupted build continues where it stopped. If --out holds an index, build stops (exit
code 3): cpar add updates an index, and --replace builds it anew and keeps its vocabulary.
The old index stays complete until the new one is.

The index has the name of its folder, without .index, or the name in --name. The name is
stored encrypted, and cpar inspect --key shows it.`,
		Example: `  $ cpar build photos/ --out family.index
  encrypted 4500 photos with 371 keywords into family.index (7 MB), 0 left out
  index 3a9d33fd4c9e228a4994b0d476c91826, called family
  photos are compared by an image network and your keywords
  note: scheme sealed hides photos, keywords, requests and all distances from the cloud…

  $ cpar build photos/ --model mobilenetv2-12.onnx --out family.index     (finds more; see cpar model)`,
		Args: oneArg("the folder of a collection"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.keys.add(c)
	f.model.add(c)
	f.text.addHalf(c, "so that a few photos suffice to find a word, and for profile clip")
	c.Flags().StringVar(&f.profile, "profile", profileSuited, "how photos are compared: paper, learned, network, clip, auto (try them and choose), or default (depends on the collection)")
	c.Flags().StringVar(&f.ranker, "ranker", "default", "how keywords are ranked: paper (weights W_t), calibrated (probabilities), or default (paper for profile paper, otherwise calibrated)")
	c.Flags().StringVar(&f.out, "out", "", "`folder` of the index (required)")
	c.Flags().StringVar(&f.name, "name", "", "name of the index (default: the name in --out, without .index)")
	c.Flags().StringVar(&f.scheme, "scheme", user.DefaultScheme.String(), "sealed (the cloud sees no distance), local (fetched once, searched on this device), cpar (the paper's encrypted forest), ivf (encrypted inverted file), capia (linear scan), or auto (measure and choose)")
	c.Flags().StringVar(&f.orderBy, "order", "rank", "order ciphertexts: rank (dense ranks) or ope (the paper's, which leaks approximate values)")
	c.Flags().IntVar(&f.pca, "pca", profile.DefaultPCA, "for profile paper: reduce haar and haarq by this factor: 8, 16, 32, 64 or 128")
	c.Flags().IntVar(&f.dim, "dim", 0, "for profile clip: dimensions of a vector, 128 (0), 256 or 512")
	c.Flags().IntVar(&f.trees, "trees", 10, "for scheme cpar: number of trees")
	c.Flags().StringVar(&f.split, "split", "pca", "for scheme cpar: space of the forest's planes: pca (principal components) or original (the paper's)")
	c.Flags().StringVar(&f.place, "place", "leaf", "for scheme cpar: records in the leaves of a tree (leaf) or at every node (node, the paper's)")
	c.Flags().IntVar(&f.block, "block", 0, "block width of scheme sealed, 16 to 128, or 0 to suit the profile (wider blocks shrink requests and enlarge the data fetched once)")
	c.Flags().BoolVar(&f.careful, "careful", false, "scheme sealed in a ring of twice the degree: 290 bits of core-SVP security instead of 120, and requests twice as long")
	c.Flags().IntVar(&f.clusters, "clusters", 0, "for scheme sealed with profile learned or network: divide the photos into 2, 4 or 8 hidden cells, of which a search asks some, or 1 to search all (0: 4 from 50,000 photos on, 8 from 400,000)")
	c.Flags().IntVar(&f.lists, "lists", 0, "for scheme ivf: number of cells of the inverted file, 0 to suit the number of photos")
	c.Flags().BoolVar(&f.replace, "replace", false, "replace the index in --out, and keep its vocabulary")
	peopleFlag(c, &f.people)
	c.Flags().StringVar(&f.vocabulary, "vocabulary", "", "`file` with a vocabulary for the index, see cpar words")
	c.Flags().BoolVar(&f.strict, "strict", false, "stop at the first unusable photo")
	f.cache.add(c)
	return writerFlags(c, &f.dryRun, &f.asJSON)
}

// With schemeAuto or profileAuto, build measures the alternatives and chooses
// among them. With profileSuited, it chooses by properties of the collection,
// without measuring.
const schemeAuto, profileAuto, profileSuited = "auto", "auto", "default"

func (f *buildFlags) plan() (o tune.Plan, err error) {
	o = tune.Plan{TryScheme: f.scheme == schemeAuto, TryProfiles: f.profile == profileAuto, Suited: f.profile == profileSuited}
	o.PCA, o.Dim, o.Trees, o.Lists, o.Block, o.Careful, o.Cells = f.pca, f.dim, f.trees, f.lists, f.block, f.careful, f.clusters
	if !o.TryScheme {
		if o.Scheme, err = cpar.ParseScheme(f.scheme); err != nil {
			return o, hint.Add(err, "or --scheme auto, which measures and chooses")
		}
	}
	if !o.TryProfiles && !o.Suited {
		if o.Profile, err = profile.ParseKind(f.profile); err != nil {
			return o, hint.Add(err, "or --profile auto, which tries them and chooses")
		}
	}
	if o.Ranker, err = rank.ParseKind(f.ranker); err != nil {
		return o, err
	}
	if o.TryProfiles && o.Ranker != rank.KindDefault {
		return o, hint.Add(usageOf("profile auto also chooses the ranker"), "leave --ranker out, or name a profile")
	}
	if f.pca != profile.DefaultPCA && (o.Suited || o.Profile != profile.Paper) {
		if o.Suited {
			o.Suited = false // --pca implies profile "paper"
		} else {
			return o, hint.Add(fmt.Errorf("%w: --pca %d is for profile paper; profile %v finds its dimensions itself", cpar.ErrInput, f.pca, o.Profile), "leave --pca out")
		}
	}
	if f.trees == 0 { // Options would read 0 as the default
		return o, hint.Add(fmt.Errorf("%w: --trees 0", cpar.ErrInput), "the schemes without trees are ivf and capia")
	}
	if o.Split, err = user.ParseSplit(f.split); err != nil {
		return o, err
	}
	if o.Place, err = cpar.ParsePlace(f.place); err != nil {
		return o, err
	}
	if o.Order, err = user.ParseOrder(f.orderBy); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	if err := errors.Join(f.model.Check(), f.text.findHalf()); err != nil {
		return o, err
	}
	if o.Suited && f.model.path != "" { // a user who names a network wants to use it
		o.Suited, o.Profile = false, profile.Network
	}
	return o, nil
}

// readOptions returns the options for reading photos. It opens the image
// network early, even in a dry run, so that errors appear before the long work.
// `w` receives notes and may be nil.
func (f *buildFlags) readOptions(w io.Writer, o tune.Plan, tell user.Progress) (opt user.ReadOptions, err error) {
	opt.Strict, opt.Progress = f.strict, tell
	if o.Profile == profile.Network || o.TryProfiles || o.Suited {
		f.model.orBundled()
	}
	if o.Profile == profile.Network || o.Profile == profile.Clip || (o.TryProfiles || o.Suited) && f.model.path != "" {
		network, err := f.model.open(w)
		if err != nil {
			return opt, err
		}
		if !f.dryRun {
			opt.Network = network
		}
	} else if f.model.path != "" && w != nil {
		f.model.unused(w, f.profile, "; pass --profile network to use it")
	}
	if f.model.path == "" && (o.TryProfiles || o.Suited) && w != nil {
		f.model.worthIt(w)
	}
	return opt, nil
}

// nameFor returns the name in the flag, otherwise the name of the index folder
// without its ending. In a dry run without an index folder, it uses the name of
// the collection. It returns "" instead of an invalid name.
func (f *buildFlags) nameFor(collection string) string {
	if f.name != "" {
		return f.name
	}
	whole, err := filepath.Abs(cmp.Or(f.out, collection))
	name := strings.TrimSuffix(filepath.Base(whole), ".index")
	if err != nil || user.CheckName(name) != nil {
		return ""
	}
	return name
}

func (f *buildFlags) run(cmd *cobra.Command, folder string) error {
	if f.out == "" && !f.dryRun {
		return hint.Add(exitcode.UsageError(fmt.Errorf("building: no index folder was named")), "pass --out FOLDER")
	}
	o, err := f.plan()
	if err != nil {
		return err
	}
	if err := f.cache.check(); err != nil {
		return err
	}
	o.Name, o.IncludePeople = f.nameFor(folder), f.people
	if f.vocabulary != "" {
		if o.Vocabulary, err = readVocabulary(f.vocabulary); err != nil {
			return err
		}
	}
	if err := o.Check(); err != nil {
		return err
	}
	o.Progress = bar.On(cmd.ErrOrStderr())
	reading, err := f.readOptions(unlessJSON(cmd, f.asJSON), o, o.Progress)
	if err != nil {
		return err
	}
	collection, err := dataset.Open(cmd.Context(), folder, dataset.Options{Strict: f.strict, Machine: f.keys.machine(), IncludePeople: f.people, Progress: o.Progress})
	if err != nil {
		return err
	}
	key, this, err := f.keys.read()
	if err != nil && !(f.dryRun && errors.Is(err, cpar.ErrKey)) {
		return err
	}
	if !f.dryRun && !o.TryScheme {
		if err := key.Check(o.Scheme); err != nil {
			return err
		}
	}
	if err := f.checkOut(unlessJSON(cmd, f.asJSON), key, &o); err != nil {
		return err
	}
	if reading.Cache, err = f.cache.open(this, key); err != nil {
		return err
	}
	if f.dryRun {
		reading.Cache = reading.Cache.ReadOnly()
	}
	if o.Text, err = f.text.vectors(cmd.Context(), &f.model, reading.Cache, o.Progress); err != nil {
		return err
	}
	result, err := f.build(cmd.Context(), this, key, collection, o, reading)
	if err != nil {
		return err
	}
	return output(cmd, f.asJSON, result, func() {
		tellCollection(cmd, collection)
		result.print(cmd)
		if o.Text != nil && result.Profile == profile.Network.String() {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: with --profile clip, cpar search also finds words that are no keywords")
		}
		if result.Encoder != nil && !f.model.isDefault() {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: annotate and add need the same network with the same flags:%s\n", f.model.again())
		}
		if !f.dryRun {
			nextPush(cmd, f.out, "")
		}
	})
}

// checkOut checks before the long work that an index can be written to --out.
// If that folder does not exist, build creates it at the end.
func (f *buildFlags) checkOut(w io.Writer, key *user.Key, o *tune.Plan) error {
	if info, err := os.Stat(f.out); err != nil || !info.IsDir() {
		return nil
	}
	if !f.dryRun {
		folder, err := indexdir.Create(f.out, indexdir.Options{})
		if err == nil {
			err = folder.Close()
		}
		if err != nil {
			return fmt.Errorf("building into %s: %w", f.out, err)
		}
	}
	m, err := indexdir.ReadManifest(f.out)
	if errors.Is(err, indexdir.ErrNoIndex) {
		return nil
	}
	return f.checkReplaced(w, key, m, o)
}

// checkReplaced refuses to replace an index unless the user passed --replace.
// With --replace, it keeps the old vocabulary for the new index. The manifest m
// is nil if it cannot be read, and the key is nil in a dry run without one.
func (f *buildFlags) checkReplaced(w io.Writer, key *user.Key, m *cpar.Manifest, o *tune.Plan) error {
	held, read := "an index that cannot be read", false
	var old user.Label
	if m != nil {
		held = fmt.Sprintf("index %v", m.ID)
	}
	if m != nil && key != nil {
		var err error
		old, err = user.ReadLabel(key, m, func(s cpar.Segment) ([]byte, error) { return indexdir.ReadSegment(f.out, s) })
		read = err == nil
	}
	rules := ""
	if read && !old.Vocabulary().Empty() {
		rules = rulesOf(old.Vocabulary().Counts())
	}
	if !f.replace {
		if read {
			held += fmt.Sprintf(" (%s)", strings.TrimSuffix(photosOf(old.Records())+", "+rules, ", "))
		}
		return hint.Add(fmt.Errorf("building into %s: %w: it holds %s", sanitize.Text(f.out), cpar.ErrInput, held),
			"%s--replace builds it anew and keeps its vocabulary", either(m != nil && m.Scheme.Grows(), "cpar add updates it; ", ""))
	}
	switch {
	case o.Vocabulary != nil || read && rules == "":
		return nil
	case read:
		o.Vocabulary = old.Vocabulary()
	}
	if w != nil {
		fmt.Fprintln(w, either(read, "note: the vocabulary of the replaced index is kept: "+rules, "note: the replaced index could not be read, so a vocabulary of it is lost"))
	}
	return nil
}

func (f *buildFlags) build(ctx context.Context, this *device.Device, key *user.Key, collection *dataset.Collection, o tune.Plan, reading user.ReadOptions) (*built, error) {
	defer limitMemory()()
	if !f.dryRun && !o.TryProfiles {
		// Without the file, features stay in memory.
		if spill, err := feature.NewSpill(filepath.Dir(f.out)); err == nil {
			defer spill.Close()
			reading.Spill = spill
		}
	}
	reading.Warnings = &collection.Warnings
	images, duplicates, skipped, err := user.ReadDistinctPhotos(ctx, collection.Photos, reading)
	if err != nil {
		return nil, err
	}
	defer spareMemory()() // after reading, which leaves little memory in use and much garbage
	words := map[string]bool{}
	for _, im := range images {
		for _, w := range im.Keywords {
			words[w] = true
		}
	}
	r := &built{Format: collection.Format, Images: len(images), Keywords: len(words),
		Name: o.Name, Photos: countsOf(collection, len(images), skipped, duplicates), Duplicates: duplicates, Skipped: append([]user.Skipped{}, skipped...), Warnings: append([]dataset.Warning{}, collection.Warnings...), peopleLeftOut: peopleLeftOut{collection.People}, DryRun: f.dryRun}
	if f.dryRun { // a dry run makes no choices
		r.Scheme, r.Profile, r.Ranker = f.scheme, f.profile, f.ranker
		return r, nil
	}
	o.Tune = tune.Options{PCA: o.PCA, Text: o.Text, Photos: collection.Photos, Network: reading.Network, Progress: o.Progress}
	if o.Tune.Keep, err = f.cache.localStore(this, key); err != nil {
		return nil, err
	}
	b, decided, err := tune.Build(ctx, key, images, o)
	if err != nil {
		return nil, err
	}
	m, err := b.Encrypt(ctx, f.out)
	if err != nil {
		return nil, err
	}
	if err := this.Made(key, f.out, nil); err != nil {
		return nil, err
	}
	r.Index, r.ID, r.Bytes, r.Fields, r.Clamped = f.out, m.ID.String(), m.Bytes(), m.Fields, b.Clamped()
	kind := b.Profile().Kind()
	r.Scheme, r.Profile, r.Ranker = m.Scheme.String(), kind.String(), b.Ranker().Kind().String()
	r.protects = leakage.Protects(m.Scheme, kind != profile.Paper)
	r.Dimensions, r.Neighbours, r.Validation = b.Profile().Dimensions(), b.Ranker().Neighbours(), b.Validation
	r.Tuning, r.Choice = decided.Tuning, decided.Choice
	if digest, ok := b.Profile().Network(); ok {
		r.Network, r.Encoder = fmt.Sprintf("%x", digest), describe(f.model.opened)
	}
	return r, nil
}

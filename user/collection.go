package user

import (
	"context"
	"fmt"
	"unicode/utf8"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/untrusted"
	"cpar/user/dataset"
	"cpar/user/feature"
	"cpar/user/internal/keyword"
	"cpar/user/network"
	"cpar/user/picture"
	"cpar/user/profile"
)

// An Image is an annotated image of a collection: its raw features, an embedding
// among them where a network was used, and its keywords, at most 31.
type Image struct {
	Vectors  *feature.Vectors
	Keywords []string
}

// Progress is told how far a stage has come. It may be nil, and is called by
// several goroutines at once.
type Progress = progress.Func

// ReadOptions say how the images of a collection are read.
type ReadOptions struct {
	// Strict stops at the first image that cannot be used; otherwise such
	// images are named, counted and left out.
	Strict bool
	// Cache keeps features between runs, so that an interrupted build goes on
	// where it stopped; nil for none.
	Cache *feature.Cache
	// Network gives images embeddings, which profile `network` needs; nil for none.
	Network  *network.Encoder
	Progress Progress
}

// Skipped is an image that was left out, and why.
type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// ReadImages extracts the features of a collection's images. Images that
// cannot be decoded are returned by name, or stop the reading if strict.
func ReadImages(ctx context.Context, items []dataset.Item, opt ReadOptions) ([]Image, []Skipped, error) {
	how := feature.Options{
		Cache:    opt.Cache,
		Progress: func(done, total int) { opt.Progress.Report("features", done, total) },
	}
	if opt.Network != nil {
		how.Network = opt.Network
	}
	results, err := feature.All(ctx, len(items), func(i int) ([]byte, error) { return picture.ReadFile(items[i].Path) }, how)
	if err != nil {
		return nil, nil, err
	}
	var images []Image
	var skipped []Skipped
	for i, r := range results {
		if r.Err != nil {
			if opt.Strict {
				return nil, nil, hint.Add(fmt.Errorf("reading %s: %w", untrusted.Text(items[i].Name), r.Err), "without --strict such images are left out and counted")
			}
			skipped = append(skipped, Skipped{Name: items[i].Name, Reason: r.Err.Error()})
			continue
		}
		images = append(images, Image{Vectors: r.Vectors, Keywords: items[i].Keywords})
	}
	if len(images) == 0 {
		which := fmt.Sprintf("none of its %d images can be used; the first", len(items))
		if len(items) == 1 {
			which = "its only image cannot be used"
		}
		return nil, skipped, fmt.Errorf("reading the collection: %w: %s: %s", cpar.ErrInput, which, firstReason(skipped))
	}
	return images, skipped, nil
}

func firstReason(skipped []Skipped) string {
	if len(skipped) == 0 {
		return "there is none"
	}
	return untrusted.Text(skipped[0].Name) + ": " + untrusted.Text(skipped[0].Reason)
}

// enoughToLearn is how many photos with keywords a learnt profile wants: with fewer it
// is not certain to find more than colours and textures do.
const enoughToLearn = 100

// SuitedProfile is the profile of a collection where none is asked for: by the image
// network if the images have embeddings, else learnt from keywords if enough of them
// have some, else the paper's.
func SuitedProfile(images []Image) profile.Kind {
	annotated, embedded := 0, len(images) > 0
	for _, im := range images {
		embedded = embedded && im.Vectors.Embedding != nil
		if len(im.Keywords) > 0 {
			annotated++
		}
	}
	switch {
	case embedded:
		return profile.Network
	case annotated >= enoughToLearn:
		return profile.Learned
	}
	return profile.Paper
}

// Keywords lists the keywords of each image.
func Keywords(images []Image) [][]string {
	out := make([][]string, len(images))
	for i, im := range images {
		out[i] = im.Keywords
	}
	return out
}

func features(images []Image) []*feature.Vectors {
	out := make([]*feature.Vectors, len(images))
	for i, im := range images {
		out[i] = im.Vectors
	}
	return out
}

// checkKeywords refuses what could be encrypted and never read again.
func checkKeywords(images []Image) error {
	for i, im := range images {
		if len(im.Keywords) > keyword.Max {
			return fmt.Errorf("image %d: %w: %d keywords; a record holds at most %d", i, cpar.ErrInput, len(im.Keywords), keyword.Max)
		}
		for j, w := range im.Keywords {
			if w == "" || len(w) > dataset.MaxKeywordBytes || !utf8.ValidString(w) {
				return fmt.Errorf("image %d: %w: keyword %d is not 1 to %d bytes of UTF-8", i, cpar.ErrInput, j, dataset.MaxKeywordBytes)
			}
		}
	}
	return nil
}

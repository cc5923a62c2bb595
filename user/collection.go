package user

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"cpar"
	"cpar/encoder"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/photo/dataset"
	"cpar/user/internal/keyword"
)

// A Photo is one photo of a collection: its features, at most 31 keywords, and
// its content digest. ReadContents leaves the features nil.
type Photo = feature.Photo

// A Progress function receives the progress of a long operation. It may be nil
// and is called concurrently.
type Progress = progress.Func

type ReadOptions struct {
	// Strict stops at the first unusable photo instead of skipping and
	// reporting it.
	Strict bool
	// Cache, if not nil, keeps features.
	Cache *feature.Cache
	// Spill, if not nil, keeps the features of many photos out of memory. It
	// must stay open as long as the photos are used.
	Spill *feature.Spill
	// Warnings, if not nil, receives a warning about each file that ends early.
	Warnings *[]dataset.Warning
	// Network, if not nil, computes embeddings, which profile "network" requires.
	Network  *encoder.Encoder
	Progress Progress
}

type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// ReadPhotos extracts the features of a collection's photos and reports photos
// that cannot be decoded.
func ReadPhotos(ctx context.Context, items []dataset.Photo, opt ReadOptions) ([]Photo, []Skipped, error) {
	images, _, skipped, err := readImages(ctx, items, opt)
	return images, skipped, err
}

// ReadDistinctPhotos reads photos like ReadPhotos and merges duplicates as
// Distinct does.
func ReadDistinctPhotos(ctx context.Context, items []dataset.Photo, opt ReadOptions) ([]Photo, []NamedDuplicate, []Skipped, error) {
	images, read, skipped, err := readImages(ctx, items, opt)
	if err != nil {
		return nil, nil, skipped, err
	}
	keywords, first := Distinct(images)
	var distinct []Photo
	for i, im := range images {
		if first[i] == i {
			im.Keywords = keywords[i]
			distinct = append(distinct, im)
		}
	}
	return distinct, NamedDuplicates(read, first), skipped, nil
}

// NamedDuplicate names two photos of a collection with the same content.
type NamedDuplicate struct {
	Name string `json:"name"`
	Of   string `json:"of"`
}

// NamedDuplicates names the duplicates that Distinct has found among photos.
func NamedDuplicates(photos []dataset.Photo, first []int) []NamedDuplicate {
	named := []NamedDuplicate{}
	for i, of := range first {
		if i != of {
			named = append(named, NamedDuplicate{Name: photos[i].Name, Of: photos[of].Name})
		}
	}
	return named
}

// readImages returns the photos that could be read, and their items.
func readImages(ctx context.Context, items []dataset.Photo, opt ReadOptions) (images []Photo, read []dataset.Photo, skipped []Skipped, err error) {
	photos, used, skipped, err := extract(ctx, items, opt)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, i := range used {
		photos[i].Keywords = items[i].Keywords
		images, read = append(images, photos[i]), append(read, items[i])
	}
	if len(images) == 0 {
		which := fmt.Sprintf("none of its %d images can be used; the first", len(items))
		if len(items) == 1 {
			which = "its only image cannot be used"
		}
		why := "there is none"
		if len(skipped) > 0 {
			why = sanitize.Text(skipped[0].Name) + ": " + sanitize.Text(skipped[0].Reason)
		}
		return nil, nil, skipped, fmt.Errorf("reading the collection: %w: %s: %s", cpar.ErrInput, which, why)
	}
	return images, read, skipped, nil
}

// enoughToLearn is the number of photos with keywords above which profile
// "learned" finds better keywords than colours and textures do.
const enoughToLearn = 100

// enoughToProject is the corresponding minimum for profile "network", which
// projects embeddings.
const enoughToProject = 20

// SuitedProfile returns the default profile for a collection: "network" if all
// photos have embeddings and at least enoughToProject have keywords, "learned"
// if at least enoughToLearn have keywords, and "paper" otherwise. It also
// returns "paper" if the keywords hardly distinguish photos.
func SuitedProfile(images []Photo) profile.Kind {
	annotated, embedded := 0, true
	for _, im := range images {
		embedded = embedded && im.Vectors.Embedding != nil
		if len(im.Keywords) > 0 {
			annotated++
		}
	}
	switch {
	case annotated < enoughToProject || !distinguished(images):
		return profile.Paper
	case embedded:
		return profile.Network
	case annotated >= enoughToLearn:
		return profile.Learned
	}
	return profile.Paper
}

// distinguished reports whether at least five photos have a keyword that at
// least five others lack. With fewer, one fold of a cross-validation might
// hold all these photos.
func distinguished(images []Photo) bool {
	const few = 5
	count := map[string]int{}
	for _, im := range images {
		for _, word := range im.Keywords {
			count[word]++
		}
	}
	telling := 0
	for _, im := range images {
		if slices.ContainsFunc(im.Keywords, func(word string) bool { return count[word] <= len(images)-few }) {
			telling++
		}
	}
	return telling >= few
}

func Keywords(images []Photo) [][]string {
	out := make([][]string, len(images))
	for i, im := range images {
		out[i] = im.Keywords
	}
	return out
}

func Features(images []Photo) []*feature.Vectors {
	out := make([]*feature.Vectors, len(images))
	for i, im := range images {
		out[i] = im.Vectors
	}
	return out
}

func checkKeywords(images []Photo) error {
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

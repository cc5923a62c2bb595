package user

import (
	"context"
	"crypto/rand"
	"fmt"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/dataset"
	"cpar/user/feature"
	"cpar/user/internal/seed"
	"cpar/user/picture"
)

// BuildOptions say how a collection becomes an index.
type BuildOptions struct {
	Options
	// Strict stops at the first image that cannot be used; otherwise such
	// images are named, counted and left out.
	Strict bool
	// Cache keeps features between runs, so that an interrupted build goes on
	// where it stopped; nil for none.
	Cache *feature.Cache
	// Network gives images embeddings, which profile `network` needs.
	Network *Network
}

// Skipped is an image that a build left out, and why.
type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// ReadImages extracts the features of a collection's images. Images that
// cannot be decoded are returned by name, or stop the reading if strict.
func ReadImages(ctx context.Context, items []dataset.Item, opt BuildOptions) ([]Image, []Skipped, error) {
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
				return nil, nil, hint.Add(fmt.Errorf("reading %s: %w", items[i].Name, r.Err), "without --strict such images are left out and counted")
			}
			skipped = append(skipped, Skipped{Name: items[i].Name, Reason: r.Err.Error()})
			continue
		}
		images = append(images, Image{Vectors: r.Vectors, Keywords: items[i].Keywords})
	}
	if len(images) == 0 {
		return nil, skipped, fmt.Errorf("reading the collection: %w: none of its %d images can be used; the first: %s", cpar.ErrInput, len(items), firstReason(skipped))
	}
	return images, skipped, nil
}

func firstReason(skipped []Skipped) string {
	if len(skipped) == 0 {
		return "there is none"
	}
	return skipped[0].Name + ": " + skipped[0].Reason
}

// Shuffle puts images into a random order. Record i of an index is image i, so
// without it the cloud would know the order of the collection: which photos
// were taken one after the other, or stand next to each other in a folder.
func Shuffle(images []Image) {
	var secret [seed.Size]byte
	rand.Read(secret[:])
	order := seed.New(secret).Perm(len(images))
	shuffled := make([]Image, len(images))
	for i, j := range order {
		shuffled[i] = images[j]
	}
	copy(images, shuffled)
}

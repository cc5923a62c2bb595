package photoprism

import (
	"cmp"
	"context"
	"cpar"
	"cpar/user"
	"cpar/user/device"
	"fmt"
	"math"
	"slices"
)

// An Index finds labels in an index at a cloud. It is safe for concurrent use.
type Index struct {
	options device.AnnotateOptions
	// turn serializes access, because a device.Index does not allow concurrent
	// use.
	turn  chan struct{}
	index *device.Index
}

// NewIndex wraps an open index.
func NewIndex(x *device.Index, w device.AnnotateOptions) *Index {
	return &Index{options: w, turn: make(chan struct{}, 1), index: x}
}

// Label finds the labels of a photo from one or more images and returns those
// found in any image.
func (x *Index) Label(ctx context.Context, pictures [][]byte) ([]Label, error) {
	owner, err := x.owner(ctx)
	if err != nil {
		return nil, err
	}
	photos := make([]device.Photo, len(pictures))
	for i, p := range pictures {
		f, err := owner.UncachedFeatures(p)
		if err != nil {
			// Omit the decoder's message, which may quote the file.
			return nil, fmt.Errorf("image %d: %w: not a readable image", i+1, cpar.ErrInput)
		}
		photos[i] = device.Extracted("", f)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	all, err := x.ask(ctx, photos)
	if err != nil {
		return nil, err
	}
	return x.merged(all)
}

func (x *Index) owner(ctx context.Context) (*user.Owner, error) {
	if err := x.take(ctx); err != nil {
		return nil, err
	}
	defer x.release()
	return x.index.Owner, nil
}

func (x *Index) ask(ctx context.Context, photos []device.Photo) ([]device.Annotated, error) {
	if err := x.take(ctx); err != nil {
		return nil, err
	}
	defer x.release()
	return x.index.Annotate(ctx, photos, x.options)
}

func (x *Index) take(ctx context.Context) error {
	select {
	case x.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the index: %w", ctx.Err())
	}
}

func (x *Index) release() { <-x.turn }

// merged returns at most MaxKeywords keywords of all images, each with its highest probability.
func (x *Index) merged(all []device.Annotated) ([]Label, error) {
	best := map[string]float64{}
	for _, a := range all {
		if a.Err != nil {
			return nil, a.Err
		}
		for _, k := range a.Keywords {
			best[k.Word] = max(best[k.Word], k.Probability)
		}
	}
	labels := []Label{}
	for word, p := range best {
		p = math.Round(p*1e4) / 1e4
		labels = append(labels, Label{Name: word, Source: "image", Confidence: p, Topicality: p})
	}
	slices.SortFunc(labels, func(a, b Label) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Name, b.Name))
	})
	return labels[:min(len(labels), x.options.Ranking.MaxKeywords)], nil
}

package photoprism

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"cpar"
	"cpar/user"
	"cpar/user/device"
)

// An Index finds labels in an index at a cloud. It is safe for concurrent use.
type Index struct {
	options device.AnnotateOptions
	// turn serializes access, because a device.Index does not allow concurrent use.
	turn  chan struct{}
	index *device.Index
}

func NewIndex(x *device.Index, w device.AnnotateOptions) *Index {
	return &Index{options: w, turn: make(chan struct{}, 1), index: x}
}

// Label returns the labels found in any image of a photo.
func (x *Index) Label(ctx context.Context, pictures [][]byte) ([]Label, error) {
	var owner *user.Owner
	if err := x.inTurn(ctx, func() error { owner = x.index.Owner; return nil }); err != nil {
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
	var all []device.Annotated
	err := x.inTurn(ctx, func() (err error) {
		all, err = x.index.Annotate(ctx, photos, x.options)
		return err
	})
	if err != nil {
		return nil, err
	}
	return x.merged(all)
}

// inTurn runs `work` while no other request uses the index.
func (x *Index) inTurn(ctx context.Context, work func() error) error {
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
		return work()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the index: %w", ctx.Err())
	}
}

// merged returns at most MaxKeywords keywords of all images, each with its
// highest probability.
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

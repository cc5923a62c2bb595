package thumbs

import (
	"context"
	"errors"
	"maps"

	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
)

type Batch struct {
	r       *Reader
	entries map[slot][]Entry
}

func (r *Reader) Batch() *Batch { return &Batch{r, map[slot][]Entry{}} }

func (b *Batch) Add(p *catalogue.Photo, images *Images) {
	month, day := When(p)
	for _, size := range Sizes {
		at := slot{size, month}
		b.entries[at] = append(b.entries[at], Entry{KeyOf(p), day, images.of(size)})
	}
}

// Encode encodes the thumbnails and calls function put for each part. It keeps parts
// of small thumbnails on the device, because grids of many photos show them.
func (b *Batch) Encode(put func(name string, part []byte) error) error {
	for at, entries := range b.entries {
		for name, part := range b.r.encode(at.size, at.month, entries) {
			if err := put(name, part); err != nil {
				return err
			}
			if at.size == Small {
				b.r.keep(name, part)
			}
		}
	}
	return nil
}

// Merge merges the small parts of each size and month, and rewrites a part once
// more than a quarter of its photos are gone. It calls function put for each new
// part, and drop for each replaced part. Function day returns a photo's day in its
// month, or false if the photo is gone. Merge skips months with damaged parts,
// which Verify reports.
func (r *Reader) Merge(ctx context.Context, day func(Key) (uint8, bool), put func(name string, part []byte) error, drop func(name string) error) error {
	r.mu.Lock()
	all, pins := maps.Clone(r.parts), r.pins
	r.mu.Unlock()
	for at, parts := range all {
		some, err := r.mergeable(ctx, parts, pins, day)
		var entries []Entry
		for _, p := range some {
			var o *opened
			if o, err = r.read(ctx, p, pins[p.name]); err != nil {
				break
			}
			for i, k := range o.keys {
				if day, has := day(k); has {
					entries = append(entries, Entry{k, day, o.image(i)})
				}
			}
		}
		if errors.Is(err, blobs.ErrDamaged) {
			continue
		}
		if err != nil {
			return err
		}
		b := &Batch{r, map[slot][]Entry{at: entries}}
		if err := b.Encode(put); err != nil {
			return err
		}
		for _, p := range some {
			if err := drop(p.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// mergeable returns the parts that Merge replaces: those that have lost more than
// a quarter of their photos, and small parts unless only one would be replaced.
func (r *Reader) mergeable(ctx context.Context, parts []part, pins map[string]blobs.Pin, day func(Key) (uint8, bool)) (some []part, err error) {
	anySparse := false
	for _, p := range parts {
		x, err := r.index(ctx, p)
		if err != nil {
			return nil, err
		}
		dead := 0
		for _, k := range x.keys {
			if _, has := day(k); !has {
				dead++
			}
		}
		sparse := 4*dead > len(x.keys)
		if sparse || pins[p.name].Size < maxPart/2 {
			some, anySparse = append(some, p), anySparse || sparse
		}
	}
	if len(some) == 1 && !anySparse {
		return nil, nil
	}
	return some, nil
}

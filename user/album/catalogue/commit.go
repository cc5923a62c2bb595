package catalogue

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpar"
	"cpar/user/album/blobs"
)

type Change struct {
	Put      []*Photo // rows to add, or to replace by key
	Remove   []Key
	Pins     map[string]blobs.Pin
	Unpinned []string
	// Compact merges all segments.
	Compact bool
}

// ErrCommitted marks an error after the server has stored the generation.
var ErrCommitted = errors.New("the change is in the album, but a later step failed")

// Commit commits a generation with the change that function create returns for the
// current state. If another device was faster, Commit fetches the newest state and
// calls create again. It ignores an empty change.
func (c *Catalogue) Commit(ctx context.Context, create func(*State) (*Change, error)) error {
	for {
		change, err := create(c.state)
		if err != nil {
			return err
		}
		if len(change.Put)+len(change.Remove)+len(change.Pins)+len(change.Unpinned) == 0 && !(change.Compact && c.now != nil && len(c.now.segments) > 1) {
			return nil
		}
		err = c.commit(ctx, change)
		if !errors.Is(err, blobs.ErrExists) {
			if err != nil {
				err = fmt.Errorf("committing to the album: %w", err)
			}
			return err
		}
		before := c.state.Number
		if _, err := c.Sync(ctx); err != nil {
			return err
		}
		if c.state.Number == before {
			return fmt.Errorf("committing to the album: %w: it has a generation after %d that it does not show", cpar.ErrCloud, before)
		}
	}
}

// commit writes the generation after the current one. It returns ErrExists if
// another device has already written that number.
func (c *Catalogue) commit(ctx context.Context, change *Change) error {
	release, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	s := &segment{photos: slices.SortedFunc(slices.Values(change.Put), comparePhotos), removed: slices.SortedFunc(slices.Values(change.Remove), compareKeys),
		pins: change.Pins, unpinned: slices.Sorted(slices.Values(change.Unpinned))}
	g := &generation{album: c.Album, number: c.state.Number + 1}
	kept := 0
	if c.now != nil {
		s.ancestors = bytes.Clone(c.now.digest[:ancestorBytes])
		kept = len(c.now.segments)
	}
	var l listed
	rand.Read(l.id[:]) // never fails
	sealed := sealSegment(c.cipher, s, l.name())
	limit, merged := maxMerged, len(sealed)
	if len(sealed) > maxMerged/4 { // a large commit may merge more
		limit = 8 * len(sealed)
	}
	for kept > 0 && (change.Compact || merged+int(c.now.segments[kept-1].bytes) <= limit) {
		kept--
		merged += int(c.now.segments[kept].bytes)
	}
	if kept < len(c.segments) {
		s = merge(append(slices.Clone(c.segments[kept:]), s), kept == 0)
		sealed = sealSegment(c.cipher, s, l.name())
	}
	l.bytes, l.digest = uint32(len(sealed)), sha256.Sum256(sealed)
	if c.now != nil {
		g.segments = slices.Clone(c.now.segments[:kept])
	}
	g.segments = append(g.segments, l)
	plain := g.appendBinary(nil)
	g.digest = digestOf(plain)
	sealedGeneration := c.cipher.Seal(plain, g.binding())
	// An unreadable generation would lock all devices out of the album.
	if _, err := openSegment(c.cipher, sealed, l.name()); err != nil {
		return err
	}
	if _, err := c.openGeneration(g.number, sealedGeneration); err != nil {
		return err
	}
	if err := c.Store.Put(ctx, l.name(), sealed); err != nil {
		return err
	}
	if err := c.Store.Put(ctx, generationName(g.number), sealedGeneration); err != nil {
		if errors.Is(err, blobs.ErrExists) {
			c.Store.Delete(ctx, l.name()) // if this fails, Tidy deletes it
		}
		return err
	}
	c.sent += int64(len(sealed) + len(sealedGeneration))
	c.segments = append(slices.Clone(c.segments[:kept]), s)
	c.now, c.state = g, newState(g.number, c.segments)
	if g.number > keptGenerations {
		_ = c.Store.Delete(ctx, generationName(g.number-keptGenerations))
	}
	err = errors.Join(c.See(g.number, g.digest, c.state.history()), c.keep(l.name(), sealed), c.settle(sealedGeneration))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCommitted, err)
	}
	return nil
}

// Tidy deletes unneeded segments, generations and thumbnail parts (blobs of
// images). Function old reports whether a blob is so old that no device is about to
// read, list or pin it.
func (c *Catalogue) Tidy(ctx context.Context, old func(name string) bool) error {
	if c.now == nil {
		return nil
	}
	keep := map[string]bool{}
	for _, l := range c.now.segments {
		keep[l.name()] = true
	}
	for n := c.now.number; n > 0 && n+keptGenerations > c.now.number; n-- {
		keep[generationName(n)] = true
	}
	var drop []string
	err := c.Store.List(ctx, "cpar-", func(b blobs.Blob) error {
		_, pinned := c.state.Pins[b.Name]
		superseded := strings.HasPrefix(b.Name, segmentPrefix) || strings.HasPrefix(b.Name, ThumbPrefix) && !pinned || b.Name < generationName(c.now.number+1)
		if superseded && !keep[b.Name] && old(b.Name) {
			drop = append(drop, b.Name)
		}
		return nil
	})
	for _, name := range drop {
		err = errors.Join(err, c.Store.Delete(ctx, name))
	}
	return err
}

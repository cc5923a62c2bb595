package catalogue

import (
	"fmt"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"cpar"
	"cpar/user/album/blobs"
	"cpar/user/album/envelope"
)

// A segment is a set of changes to the rows and pins of earlier segments.
type segment struct {
	photos    []*Photo // added or replaced
	removed   []Key
	pins      map[string]blobs.Pin
	unpinned  []string
	ancestors []byte // for each merged commit, the digest of the generation before it, oldest first
}

// ancestorBytes is the length of an ancestor's digest, as in user.History.
const ancestorBytes = 8

// merge returns a segment with the effect of several segments in order. If
// `bottom` is set, there are no earlier segments, so the result removes nothing.
func merge(all []*segment, bottom bool) *segment {
	out := &segment{pins: map[string]blobs.Pin{}}
	photos, removed, unpinned := map[Key]*Photo{}, map[Key]bool{}, map[string]bool{}
	for _, s := range all {
		for _, k := range s.removed {
			delete(photos, k)
			removed[k] = true
		}
		for _, p := range s.photos {
			photos[p.Key()] = p
			delete(removed, p.Key())
		}
		for _, name := range s.unpinned {
			delete(out.pins, name)
			unpinned[name] = true
		}
		for name, p := range s.pins {
			out.pins[name] = p
			delete(unpinned, name)
		}
		out.ancestors = append(out.ancestors, s.ancestors...)
	}
	out.photos = slices.SortedFunc(maps.Values(photos), comparePhotos)
	if !bottom {
		out.removed = slices.SortedFunc(maps.Keys(removed), compareKeys)
		out.unpinned = slices.Sorted(maps.Keys(unpinned))
	}
	return out
}

// A State contains the rows and pins of a generation. Callers must not modify it.
type State struct {
	Number uint64
	Pins   map[string]blobs.Pin
	photos map[Key]*Photo
	// ancestors contains the digests of all earlier generations, oldest first.
	ancestors []byte
	sorted    []*Photo
}

func newState(number uint64, all []*segment) *State {
	var whole *segment
	if len(all) == 1 {
		whole = all[0]
	} else {
		whole = merge(all, true)
	}
	s := &State{Number: number, Pins: whole.pins, photos: map[Key]*Photo{}, ancestors: whole.ancestors, sorted: whole.photos}
	for _, p := range whole.photos {
		s.photos[p.Key()] = p
	}
	return s
}

// Photos returns all rows, including the trash, sorted by folder and name.
func (s *State) Photos() []*Photo { return s.sorted }

// Photo returns the photo with a path outside the trash, or nil.
func (s *State) Photo(path string) *Photo { return s.photos[Key{Path: path}] }

var coders = envelope.Coders(zstd.SpeedBetterCompression, 1, 1<<30)

func sealSegment(c *envelope.Cipher, s *segment, name string) []byte {
	e, _ := coders()
	return c.Seal(e.EncodeAll(s.appendBinary(nil), nil), "cpar/v1/album segment/"+name)
}

func openSegment(c *envelope.Cipher, b []byte, name string) (*segment, error) {
	packed, err := c.Open(b, "cpar/v1/album segment/"+name)
	if err != nil {
		return nil, err
	}
	_, d := coders()
	plain, err := d.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
	}
	return readSegment(plain)
}

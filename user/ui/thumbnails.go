package ui

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"cpar"
	"cpar/photo/decode"
	"cpar/user/album/thumbs"
)

// Lengths of the longer side in pixels, for the grid and for one photo.
const (
	smallSide = 400
	largeSide = 1800
)

// Maximum numbers of cached thumbnails, which take about 40 MB and 10 MB.
const (
	maxSmall = 1500
	maxLarge = 24
)

// thumbnails scales images for the page and caches them in memory.
type thumbnails struct {
	small, large *lru.Cache[string, []byte] // JPEG files by name
	// The mutex `one` serializes decoding, to limit memory and to finish the first
	// images early.
	one sync.Mutex
}

func newThumbnails() *thumbnails {
	return &thumbnails{small: newCache[string, []byte](maxSmall), large: newCache[string, []byte](maxLarge)}
}

// get reduces the image that `read` returns to a longer side of at most `side`
// pixels, and caches the result under `name`.
func (t *thumbnails) get(name string, side int, read func() ([]byte, error)) ([]byte, error) {
	kept := t.large
	if side == smallSide {
		kept = t.small
	}
	if made, ok := kept.Get(name); ok {
		return made, nil
	}
	t.one.Lock()
	defer t.one.Unlock()
	if made, ok := kept.Get(name); ok { // another call has made it
		return made, nil
	}
	data, err := read()
	if err != nil {
		return nil, err
	}
	made, err := shrink(data, side)
	if err != nil {
		return nil, err
	}
	kept.Add(name, made)
	return made, nil
}

// shrink returns a JPEG without metadata whose longer side has at most `side` pixels.
func shrink(data []byte, side int) ([]byte, error) {
	p, err := decode.Decode(data)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, thumbs.Scale(p, side), &jpeg.Options{Quality: 85}); err != nil {
		return nil, fmt.Errorf("making a thumbnail: %w: %w", cpar.ErrInput, err)
	}
	return b.Bytes(), nil
}

package ui

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/image/draw"

	"cpar"
	"cpar/photo/decode"
)

// Pictures are made in two sizes, the longer side in pixels: for a list, and for one photo.
const (
	smallSide = 400
	largeSide = 1800
)

// maxSmall and maxLarge are how many made pictures are kept: some 40 and 10 MB.
const (
	maxSmall = 1500
	maxLarge = 24
)

// thumbnails makes pictures for the page, and keeps those that were shown last. Nothing of them is
// written to a disk.
type thumbnails struct {
	small, large *lru.Cache[string, []byte] // JPEG files, by what they were made of
	// one picture is decoded at a time: a large one takes memory, and the person waits for
	// the first ones.
	one sync.Mutex
}

func newThumbnails() *thumbnails {
	return &thumbnails{small: newCache[string, []byte](maxSmall), large: newCache[string, []byte](maxLarge)}
}

// get is the picture of what read returns, whose name changes with what is read.
func (t *thumbnails) get(name string, large bool, read func() ([]byte, error)) ([]byte, error) {
	kept, side := t.small, smallSide
	if large {
		kept, side = t.large, largeSide
	}
	if made, ok := kept.Get(name); ok {
		return made, nil
	}
	t.one.Lock()
	defer t.one.Unlock()
	if made, ok := kept.Get(name); ok { // while this one waited
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

// shrink makes a JPEG file whose longer side has at most so many pixels, and no metadata.
func shrink(data []byte, side int) ([]byte, error) {
	p, err := decode.Decode(data)
	if err != nil {
		return nil, err
	}
	w, h := p.Width, p.Height
	if longer := max(w, h); longer > side {
		w, h = max(1, w*side/longer), max(1, h*side/longer)
	}
	from := p.RGBA()
	to := from
	if w != p.Width || h != p.Height {
		to = image.NewRGBA(image.Rect(0, 0, w, h))
		draw.BiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, to, &jpeg.Options{Quality: 85}); err != nil {
		return nil, fmt.Errorf("making a picture for the page: %w: %w", cpar.ErrInput, err)
	}
	return b.Bytes(), nil
}

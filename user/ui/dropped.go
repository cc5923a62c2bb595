package ui

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cpar/photo/decode"
)

const (
	maxDropBytes = 256 << 20 // bytes of one photo, and of all kept photos together
	maxDropped   = 4
	// maxCompared bounds the bytes read to find a renamed photo. If the photos exceed
	// it, match compares only those of the same name or size.
	maxCompared = 2 << 30
)

// The type dropped holds the last photos dropped onto the page, except photos
// that are in the folders.
type dropped struct {
	by       *lru.Cache[string, *drop]
	maxBytes int // of all photos together
	// The channel `receiving` admits one photo at a time, because a photo may
	// be as large as all kept photos together.
	receiving chan struct{}
	content   sync.Map // digests of images in the folders, by contentKey
}

type contentKey struct {
	path  string
	size  int64
	dated time.Time
}

type drop struct {
	id, name string
	data     []byte
	known    Known
}

func newDropped() *dropped {
	return &dropped{by: newCache[string, *drop](maxDropped), maxBytes: maxDropBytes, receiving: make(chan struct{}, 1)}
}

func (d *dropped) put(name string, data []byte, known *Known) *drop {
	x := &drop{id: randomName("d", 12), name: name, data: data, known: *known}
	d.by.Add(x.id, x)
	d.bound()
	return x
}

// bound evicts the least recently used photos until the others fit.
func (d *dropped) bound() {
	sum := 0
	for _, x := range d.by.Values() {
		sum += len(x.data)
	}
	for ; sum > d.maxBytes; d.by.RemoveOldest() {
		if _, oldest, ok := d.by.GetOldest(); ok {
			sum -= len(oldest.data)
		}
	}
}

func baseName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" || len(name) > 255 {
		return "photo"
	}
	return name
}

// match finds a photo in the folders with the same image as a dropped photo. It
// compares photos of the same name or size first. Result `whole` reports whether
// it considered all photos.
func (s *Server) match(ctx context.Context, name string, data []byte) (found *shelfPhoto, whole bool, err error) {
	want := decode.ContentDigest(data)
	all, _ := s.photos.list()
	var likely, others []*shelfPhoto
	var bytesOfOthers int64
	for _, p := range all {
		info, err := s.photos.stat(p)
		switch {
		case err != nil:
		case strings.EqualFold(path.Base(p.name), name) || info.Size() == int64(len(data)):
			likely = append(likely, p)
		default:
			others = append(others, p)
			bytesOfOthers += info.Size()
		}
	}
	if whole = bytesOfOthers <= maxCompared; whole {
		likely = append(likely, others...)
	}
	for _, p := range likely {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if got, err := s.contentOf(p); err == nil && got == want {
			return p, whole, nil
		}
	}
	return nil, whole, nil
}

// contentOf returns the digest of a photo's image, cached while the file's size
// and time are unchanged.
func (s *Server) contentOf(p *shelfPhoto) ([32]byte, error) {
	info, err := s.photos.stat(p)
	if err != nil {
		return [32]byte{}, err
	}
	key := contentKey{p.path, info.Size(), info.ModTime()}
	if digest, ok := s.dropped.content.Load(key); ok {
		return digest.([32]byte), nil
	}
	data, err := s.photos.read(p)
	if err != nil {
		return [32]byte{}, err
	}
	digest := decode.ContentDigest(data)
	s.dropped.content.Store(key, digest)
	return digest, nil
}

func (s *Server) annotateDrop(ctx context.Context, x *drop) error {
	if _, err := decode.Decode(x.data); err != nil {
		return err
	}
	a, err := s.backend.AnnotateData(ctx, x.data)
	if err = errors.Join(err, a.Err); err != nil {
		return err
	}
	// Store a copy, because another goroutine may be reading x.
	asked := *x
	asked.known.Asked, asked.known.Keywords, asked.known.Near = true, a.Keywords, a.Near
	if s.dropped.by.Contains(x.id) { // otherwise it was evicted
		s.dropped.by.Add(x.id, &asked)
	}
	if a.CloudView != nil {
		s.cloudViews.Add(x.id, a.CloudView)
	}
	return nil
}

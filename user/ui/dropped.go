package ui

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"cpar/photo/decode"
)

// Bounds of photos that are dropped onto the page.
const (
	maxDropBytes = 256 << 20 // of one, and of all that are kept
	maxDropped   = 4
	// maxCompared bytes of photos are read to find one that was renamed; beyond that only those of
	// its name or size are compared.
	maxCompared = 2 << 30
)

// dropped are the photos that were dropped last and are in no folder. They stay in memory.
type dropped struct {
	by   *lru.Cache[string, *drop]
	most int // bytes of all of them
	// receiving is for one photo at a time: each may be as large as all that are kept.
	receiving chan struct{}

	mu sync.Mutex
	// content remembers what was compared: the digest of a photo by its path, size and date.
	content map[contentKey][32]byte
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
	return &dropped{by: newCache[string, *drop](maxDropped), most: maxDropBytes, receiving: make(chan struct{}, 1), content: map[contentKey][32]byte{}}
}

// put keeps a photo that is in no folder.
func (d *dropped) put(name string, data []byte, known *Known) *drop {
	b := make([]byte, 12)
	rand.Read(b)
	x := &drop{id: "d" + base64.RawURLEncoding.EncodeToString(b), name: name, data: data, known: *known}
	d.by.Add(x.id, x)
	d.bound()
	return x
}

// bound forgets the photos that were looked at longest ago, until the others are small enough.
func (d *dropped) bound() {
	sum := 0
	for _, x := range d.by.Values() {
		sum += len(x.data)
	}
	for ; sum > d.most; d.by.RemoveOldest() {
		if _, oldest, ok := d.by.GetOldest(); ok {
			sum -= len(oldest.data)
		}
	}
}

// baseName is the last part of a name that a browser has sent.
func baseName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" || len(name) > 255 {
		return "photo"
	}
	return name
}

// match finds the photo below the folders whose picture is the dropped one, whatever its
// keywords: first among those of its name or size, then among all if that is not too much to read.
// whole is whether all were compared.
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

// contentOf is the digest of a photo's picture. What was read before is not read again while the
// file has its size and date.
func (s *Server) contentOf(p *shelfPhoto) ([32]byte, error) {
	info, err := s.photos.stat(p)
	if err != nil {
		return [32]byte{}, err
	}
	key := contentKey{p.path, info.Size(), info.ModTime()}
	s.dropped.mu.Lock()
	digest, ok := s.dropped.content[key]
	s.dropped.mu.Unlock()
	if ok {
		return digest, nil
	}
	data, err := s.photos.read(p)
	if err != nil {
		return [32]byte{}, err
	}
	digest = decode.ContentDigest(data)
	s.dropped.mu.Lock()
	s.dropped.content[key] = digest
	s.dropped.mu.Unlock()
	return digest, nil
}

// annotateDrop asks about a photo that is in no folder.
func (s *Server) annotateDrop(ctx context.Context, x *drop) error {
	if _, err := decode.Decode(x.data); err != nil {
		return err
	}
	a, err := s.backend.AnnotateData(ctx, x.data)
	if err = errors.Join(err, a.Err); err != nil {
		return err
	}
	// A new value: another request may be reading the old one.
	asked := *x
	asked.known.Asked, asked.known.Keywords, asked.known.Near = true, a.Keywords, a.Near
	if s.dropped.by.Contains(x.id) { // else it was forgotten meanwhile, and stays so
		s.dropped.by.Add(x.id, &asked)
	}
	if a.CloudView != nil {
		s.cloudViews.Add(x.id, a.CloudView)
	}
	return nil
}

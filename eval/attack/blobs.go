package attack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/testing/blobtest"
	"cpar/user"
	"cpar/user/album"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
	"cpar/user/device"
)

// Blobs: which photo was added to an album, or fetched from it? The server has
// a list of candidate photos and knows their sizes. It sees the sizes of blobs,
// and the offset and length of each read.

const (
	blobDraws = 5 // guesses for each photo among candidates that look alike

	// These sizes are public constants of kopia's format. A pack begins with
	// packPreamble random bytes. Each content grows by sealOverhead, and at least
	// one random byte pads the two to a multiple of packPage. An index shorter
	// than a page follows.
	packPreamble, sealOverhead, packPage = 32, 28, 4096
)

// pages returns the number of pages in the pack of a photo that is added alone.
func pages(size int64) int64 { return (packPreamble+size+sealOverhead)/packPage + 1 }

// A watchingStore counts what the server sees of packs: pages written and bytes
// of contents read.
type watchingStore struct {
	blobs.Store
	pages, read int64
}

func isPack(name string) bool { return strings.HasPrefix(name, "p") }

func (w *watchingStore) Put(ctx context.Context, name string, b []byte) error {
	if isPack(name) {
		w.pages += int64(len(b)) / packPage
	}
	return w.Store.Put(ctx, name, b)
}

func (w *watchingStore) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if isPack(name) {
		w.read += length - sealOverhead
	}
	return w.Store.Get(ctx, name, offset, length)
}

// blobs adds test photos to an album one at a time, and then fetches them one
// at a time.
func (r *run) blobs(ctx context.Context) error {
	if r.c.Files == nil {
		return nil
	}
	sizes := make([]int64, len(r.c.Files))
	for i, f := range r.c.Files {
		info, err := os.Stat(f)
		if err != nil {
			return fmt.Errorf("%w: %w", cpar.ErrInput, err)
		}
		sizes[i] = info.Size()
	}
	folder, err := os.MkdirTemp("", "cpar-attack-")
	if err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	defer os.RemoveAll(folder)
	s := &watchingStore{Store: blobtest.NewMemory()}
	a, err := album.Open(ctx, album.Options{Store: s, Key: user.NewKey(), Device: &device.Device{State: folder + "/state"}})
	if err != nil {
		return err
	}
	added, fetched := map[int]int64{}, map[int]int64{}
	for _, i := range sample(len(r.c.Test), picks, 3) {
		i += len(r.c.Train)
		s.pages = 0
		if _, err := a.Add(ctx, []string{r.c.Files[i]}, album.AddOptions{Into: strconv.Itoa(i)}); err != nil {
			return err
		}
		added[i] = s.pages
	}
	all, err := query.Parse("", nil)
	if err != nil {
		return err
	}
	for _, p := range a.Find(all, false) {
		i, err := strconv.Atoi(p.Folder)
		if err != nil {
			return err
		}
		s.read = 0
		if _, err := a.Get(ctx, []*catalogue.Photo{p}, folder, nil); err != nil {
			return err
		}
		fetched[i] = s.read
	}
	r.add(byLooks("blob-added", added, measure.Map(sizes, pages)), byLooks("blob-fetched", fetched, sizes))
	return nil
}

// byLooks guesses each photo at random among the candidates that look the same
// to the server. seen[i] is the server's observation of photo i, and looks[i]
// is the observation that candidate i would cause.
func byLooks(attack string, seen map[int]int64, looks []int64) Row {
	alike := map[int64][]int{}
	for i, l := range looks {
		alike[l] = append(alike[l], i)
	}
	rng := rand.New(rand.NewPCG(0x626c6f6273, 0)) // "blobs"
	right := 0
	for i := range looks { // in a fixed order
		l, ok := seen[i]
		if list := alike[l]; ok && len(list) > 0 {
			right += count(blobDraws, func(int) bool { return list[rng.IntN(len(list))] == i })
		}
	}
	row := proportion(attack, "album", len(looks), right, blobDraws*len(seen), 1/float64(len(looks)))
	row.Profile = "none"
	return row
}

package album

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar/internal/testing/oracle"
	"cpar/user/album/blobs"
)

// A watching store records the lengths of reads of packs, as a server can.
type watching struct {
	blobs.Store
	lengths []int64
}

func (w *watching) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if strings.HasPrefix(name, "p") {
		w.lengths = append(w.lengths, length)
	}
	return w.Store.Get(ctx, name, offset, length)
}

// A server that has a list of candidate photos learns by its size which one is
// fetched, and much less about which one was added. docs/security/device.md states
// the figures.
func TestSizesTellPhotosApart(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(oracle.Path(t, "data/corel5k/images"), "*.jpeg"))
	must(t, err)
	bySize, byPage := map[int64]int{}, map[int64]int{}
	const overhead, page = 28, 4096 // of AES-GCM, and kopia's padding
	w := newWorld(t)
	dir := filepath.Join(w.root, "photos")
	must(t, os.Mkdir(dir, 0o700))
	for i, f := range files {
		b, err := os.ReadFile(f)
		must(t, err)
		bySize[int64(len(b))]++
		byPage[int64(len(b)+page-1)/page]++
		if i%25 == 0 {
			must(t, os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o600))
		}
	}
	s := &watching{Store: w.store}
	a := w.over("one", s)
	w.add(a, dir)
	w.same(a, dir)
	alone := 0
	for _, n := range s.lengths {
		switch bySize[n-overhead] {
		case 0:
			t.Errorf("a read of %d bytes is of no photo", n)
		case 1:
			alone++
		}
	}
	t.Logf("of %d photos that were fetched among %d candidates, %d are told by their size alone (%.0f %%)",
		len(s.lengths), len(files), alone, 100*float64(alone)/float64(len(s.lengths)))
	t.Logf("guessing an added photo by its size to 4 KiB is right for %d of %d (%.2f %%)", len(byPage), len(files), 100*float64(len(byPage))/float64(len(files)))
	if len(s.lengths) != (len(files)+24)/25 {
		t.Errorf("%d reads", len(s.lengths))
	}
}

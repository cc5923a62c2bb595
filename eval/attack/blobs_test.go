package attack

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// The exact size shows which photo was fetched. The size to 4 KiB shows which
// one was added only if no candidate has as many pages.
func TestSizesTellPhotosApart(t *testing.T) {
	c := synthetic(4, 6, 6)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	rng, dir := rand.New(rand.NewPCG(1, 2)), t.TempDir()
	const most = 4035 // bytes of a photo in a pack of one page
	for i, size := range []int{1000, 1001, 1002, 1003, 1004, 2 * packPage, 1005, 1006, 1007, 1008, most, most + 1} {
		photo := make([]byte, size)
		for j := copy(photo, b.Bytes()); j < size; j++ {
			photo[j] = byte(rng.Uint32())
		}
		c.Files = append(c.Files, filepath.Join(dir, fmt.Sprintf("%d.jpg", i)))
		if err := os.WriteFile(c.Files[i], photo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := rowsOf(t, c, func(r *run) error { return r.blobs(t.Context()) })
	if r := all["blob-fetched"]; r.Success != 1 || r.Trials != 6*blobDraws {
		t.Errorf("%+v", r)
	}
	// The largest of the six is identified, and the others look like nine
	// candidates.
	if r := all["blob-added"]; r.Success < 1./6 || r.Success > 0.5 || r.Trials != 6*blobDraws || r.Baseline != 1./12 {
		t.Errorf("%+v", r)
	}
}

package ui

import (
	"bytes"
	"net/http"
	"os"
	"testing"

	"cpar/internal/scene"
)

func TestThumbnailsAreSmallAndUpright(t *testing.T) {
	f := newFake(t, 1)
	s, _ := start(t, f)
	c := caller{t: t, s: s}
	p := s.photos.all[0]
	for _, size := range []string{"small", "large"} {
		status, b := c.call("GET", "/api/picture/"+p.id+"?size="+size, nil)
		if status != http.StatusOK || !bytes.HasPrefix(b, []byte("\xff\xd8\xff\xdb")) {
			t.Errorf("%s: %d, %.10q", size, status, b)
		}
	}
	if s.thumbs.small.Len() != 1 || s.thumbs.large.Len() != 1 {
		t.Error("they are not kept")
	}
	// Another file with this name is another image.
	other, _, err := scene.RenderJPEG(12, 3)
	if err == nil {
		err = os.WriteFile(p.path, append(other, "another size"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, before := c.call("GET", "/api/picture/"+p.id, nil)
	made, err := shrink(other, smallSide)
	if err != nil || !bytes.Equal(made, before) {
		t.Errorf("an old picture is shown: %v", err)
	}
	if err := os.WriteFile(p.path, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, answer := c.call("GET", "/api/picture/"+p.id, nil); status != 422 {
		t.Errorf("junk: %d %s", status, answer)
	}
}

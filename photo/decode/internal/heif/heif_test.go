package heif

import (
	"bytes"
	"context"
	"errors"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	_ "unsafe" // for linkname

	"github.com/gen2brain/heic"
)

func sample(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "corner.heic"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDecoderMatchesModule(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/gen2brain/heic").Output()
	if err != nil {
		t.Skip("the go command finds no modules here")
	}
	want, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "lib", "heif.wasm.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(compressed, want) {
		t.Error("heif.wasm.gz has changed; count the hot functions again (sandbox.go)")
	}
}

// moduleUsesSystem is set if the module has loaded the system's libheif, which
// it prefers to its own.
//
//go:linkname moduleUsesSystem github.com/gen2brain/heic.dynamic
var moduleUsesSystem bool

func TestDecodeMatchesModule(t *testing.T) {
	defer func(was bool) { moduleUsesSystem = was }(moduleUsesSystem)
	moduleUsesSystem = false
	data := sample(t)
	reference, err := heic.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := reference.(*image.YCbCr)
	if err := Decode(data, 64<<20, func(img image.Image) error {
		got := img.(*image.YCbCr)
		if got.Rect != want.Rect || got.SubsampleRatio != want.SubsampleRatio {
			t.Errorf("%v %v, want %v %v", got.Rect, got.SubsampleRatio, want.Rect, want.SubsampleRatio)
		}
		for y := range got.Rect.Dy() {
			if !bytes.Equal(got.Y[y*got.YStride:][:got.Rect.Dx()], want.Y[y*want.YStride:][:want.Rect.Dx()]) {
				t.Fatalf("row %d differs", y)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestDecodeObeysMemoryLimit(t *testing.T) {
	nothing := func(image.Image) error { return nil }
	for _, memory := range []int64{0, 1 << 16, 1 << 17, 3 << 16} {
		if err := Decode(sample(t), memory, nothing); err == nil {
			t.Errorf("decoded in %d bytes", memory)
		}
	}
	late, cancel := context.WithCancel(context.Background())
	cancel()
	if err := decode(late, sample(t), 64<<20, nothing); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "in 2m0s") {
		t.Errorf("without time: %v", err)
	}
	own := errors.New("of use")
	if err := Decode(sample(t), 64<<20, func(image.Image) error { return own }); !errors.Is(err, own) {
		t.Error(err)
	}
	if err := Decode(sample(t)[:200], 64<<20, nothing); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

package eval

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"cpar"
	"cpar/model/feature"
	"cpar/photo/dataset"
)

// photos writes n small pictures and returns a corpus of them.
func photos(t *testing.T, n int) *Corpus {
	t.Helper()
	dir := t.TempDir()
	c := new(Corpus)
	for k := range n {
		img := image.NewRGBA(image.Rect(0, 0, 96, 64))
		for i := range 96 * 64 {
			img.Set(i%96, i/96, color.RGBA{uint8(i * (k + 1)), uint8(i / 96 * 4), uint8(40 * k), 255})
		}
		var buf bytes.Buffer
		if err := png.Encode(&buf, img); err != nil {
			t.Fatal(err)
		}
		it := dataset.Photo{Path: filepath.Join(dir, string(rune('a'+k))+".png"), Name: string(rune('a' + k)), Keywords: []string{"word " + string(rune('a'+k))}}
		if err := os.WriteFile(it.Path, buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		c.TrainItems = append(c.TrainItems, it)
	}
	return c
}

// Augmented photos are the same in every run, differ from each other, and keep the
// keywords of their photo; the folder keeps what was made.
func TestAugmentPixels(t *testing.T) {
	c := photos(t, 3)
	a, err := augmentPixels(context.Background(), c.TrainItems, 4, 7, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	b, err := augmentPixels(context.Background(), c.TrainItems, 4, 7, func(int) {})
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("another run makes others (%v)", err)
	}
	if reflect.DeepEqual(a[0].Vectors.RGB, a[3].Vectors.RGB) || reflect.DeepEqual(a[0].Vectors.Gabor, a[3].Vectors.Gabor) {
		t.Error("two images of one photo are alike")
	}
	for i, im := range a {
		if im.Keywords[0] != c.TrainItems[(4+i)%3].Keywords[0] {
			t.Errorf("image %d has keywords %v", i, im.Keywords)
		}
	}
	enc, err := encodeAugmented(a)
	if err != nil {
		t.Fatal(err)
	}
	if len(enc) != len(augmentMagic)+4+7*augmentedSize+4 || augmentedSize != 16568 {
		t.Errorf("%d bytes, %d an image", len(enc), augmentedSize)
	}
	back, err := decodeAugmented(enc)
	if err != nil || len(back) != 7 {
		t.Fatal(len(back), err)
	}
	for i, v := range back {
		w := a[i].Vectors
		if !reflect.DeepEqual(v.GaborQ, w.GaborQ) || !reflect.DeepEqual(v.HaarQ, w.HaarQ) {
			t.Errorf("image %d: phases or signs differ", i)
		}
		for j := range w.Haar {
			if math.Abs(float64(v.Haar[j]-w.Haar[j])) > 1e-3 {
				t.Fatalf("image %d: haar %d is %g, was %g", i, j, v.Haar[j], w.Haar[j])
			}
		}
		for j := range w.RGB {
			if math.Abs(float64(v.RGB[j]-w.RGB[j])) > 1e-5 {
				t.Fatalf("image %d: rgb %d is %g, was %g", i, j, v.RGB[j], w.RGB[j])
			}
		}
	}
}

// A collection grows by the announced number.
func TestCollectionKinds(t *testing.T) {
	l := lab(t, 40, 5)
	c, err := l.Collection(context.Background(), 30)
	if err != nil || len(c.Train) != 30 || l.corpus.kind(30) != "real" {
		t.Fatal(len(c.Train), err)
	}
	if _, err := l.Collection(context.Background(), 50); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("photos that are no files were augmented: %v", err)
	}
	if a, b := l.corpus.kind(20000), l.corpus.kind(20001); a != "augmented" || b != "augmented and mixed" {
		t.Errorf("%q and %q", a, b)
	}
	mixed, err := mixFeatures(context.Background(), l.corpus.Train, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := mixFeatures(context.Background(), l.corpus.Train, 3, nil)
	if !reflect.DeepEqual(mixed, again) || reflect.DeepEqual(mixed[0].Vectors, mixed[1].Vectors) {
		t.Error("mixed images must be the same in every run, and not the same as each other")
	}
	sum := float32(0)
	for _, x := range mixed[0].Vectors.RGB {
		sum += x
	}
	if math.Abs(float64(sum)-1) > 1e-5 || len(mixed[0].Vectors.Haar) != feature.HaarDim {
		t.Errorf("a mixed histogram sums to %g", sum)
	}
}

func FuzzAugmented(f *testing.F) {
	f.Add([]byte{})
	b := append([]byte(augmentMagic), 0, 0, 0, 0)
	f.Add(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
	f.Add(append([]byte(augmentMagic), 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		// The checksum would hide everything after it.
		if len(b) >= 4 {
			binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
		}
		v, err := decodeAugmented(b)
		if err != nil && !errors.Is(err, cpar.ErrCorrupt) || err == nil && len(v)*augmentedSize > len(b) {
			t.Errorf("%d images of %d bytes, %v", len(v), len(b), err)
		}
	})
}

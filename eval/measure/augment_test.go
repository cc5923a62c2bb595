package measure_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/model/feature"
)

func TestAugmentPixels(t *testing.T) {
	c := measuretest.Photos(t, 3)
	a, err := measure.AugmentPixels(context.Background(), c.TrainItems, 4, 7, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	b, err := measure.AugmentPixels(context.Background(), c.TrainItems, 4, 7, func(int) {})
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
	enc, err := measure.EncodeAugmented(a)
	if err != nil {
		t.Fatal(err)
	}
	if len(enc) != len(measure.AugmentMagic)+4+7*measure.AugmentedSize+4 || measure.AugmentedSize != 16568 {
		t.Errorf("%d bytes, %d an image", len(enc), measure.AugmentedSize)
	}
	back, err := measure.DecodeAugmented(enc)
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

func TestCollectionGrowsToRequestedSize(t *testing.T) {
	l := measuretest.NewLab(t, 40, 5)
	real, err := l.Corpus(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Collection(context.Background(), 30)
	if err != nil || len(c.Train) != 30 || real.Kind(30) != "real" {
		t.Fatal(len(c.Train), err)
	}
	if _, err := l.Collection(context.Background(), 50); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("photos that are no files were augmented: %v", err)
	}
	if a, b := real.Kind(20000), real.Kind(20001); a != "augmented" || b != "augmented and mixed" {
		t.Errorf("%q and %q", a, b)
	}
	mixed, err := measure.MixFeatures(context.Background(), real.Train, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := measure.MixFeatures(context.Background(), real.Train, 3, nil)
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
	b := append([]byte(measure.AugmentMagic), 0, 0, 0, 0)
	f.Add(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, measure.Castagnoli)))
	f.Add(append([]byte(measure.AugmentMagic), 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		// A wrong checksum would reject every mutation.
		if len(b) >= 4 {
			binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], measure.Castagnoli))
		}
		v, err := measure.DecodeAugmented(b)
		if err != nil && !errors.Is(err, cpar.ErrCorrupt) || err == nil && len(v)*measure.AugmentedSize > len(b) {
			t.Errorf("%d images of %d bytes, %v", len(v), len(b), err)
		}
	})
}

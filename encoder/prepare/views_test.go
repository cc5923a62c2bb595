package prepare

import (
	"errors"
	"slices"
	"testing"

	"cpar"
)

// The views of a picture of eight pixels are itself and its middle, by hand: seven pixels of
// eight, and a mirror image has every row backwards.
func TestTensors(t *testing.T) {
	p := plain(1, 4)
	p.Scale = 1
	red := func(values ...byte) (rgb []byte) {
		for _, v := range values {
			rgb = append(rgb, v, 0, 0)
		}
		return rgb
	}
	picture := red(slices.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 8)...)
	middle := red(slices.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, 7)...)
	whole, err1 := p.Tensor(picture, 8, 8)
	inner, err2 := p.Tensor(middle, 7, 7)
	if err1 != nil || err2 != nil || slices.Equal(whole, inner) {
		t.Fatal(err1, err2, whole, inner)
	}
	backwards := func(x []float32) []float32 {
		return slices.Concat([]float32{x[3], x[2], x[1], x[0]}, x[4:]) // green and blue are 0
	}
	for views, want := range map[Views][][]float32{0: {whole}, 1: {whole}, 2: {whole, backwards(inner)}} {
		p.Views = views
		got, err := p.Tensors(picture, 8, 8)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%d views: %v, want %v (%v)", views, got, want, err)
		}
	}
	p.Views = 2
	if got, err := p.Tensors(red(9), 1, 1); err != nil || !slices.Equal(got[0], got[1]) {
		t.Errorf("a pixel: %v, %v", got, err)
	}
	p.Views = 3
	if _, err := p.Tensors(picture, 8, 8); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("3 views: %v", err)
	}
	p.Views = 2
	if _, err := p.Tensors(picture, 8, 9); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("another size: %v", err)
	}
}

package prepare

import (
	"fmt"
	"slices"
)

// Views is at how many images of a picture a network looks, each for the network's time. The
// embedding is their mean, which says more of what a picture shows and less of how it lies;
// docs/quality.md has how much more is found, and that four views find no more than two.
//
//	1    the picture; 0 is the same
//	2    and its middle, mirrored
type Views int

// MostViews are how many there can be, and how many there are where nobody says otherwise.
const MostViews Views = 2

// Check refuses other numbers.
func (v Views) Check() error {
	if v < 0 || v > MostViews {
		return fmt.Errorf("%d views of a picture; there are 1 and %d", int(v), MostViews)
	}
	return nil
}

// middleShare of 8 are the width and height of a picture's middle.
const middleShare = 7

// Tensors makes the inputs of a network of which the embedding of a picture is the mean, as
// many as there are views, each as Tensor makes it. Errors wrap cpar.ErrInput.
func (p Preprocessing) Tensors(rgb []byte, width, height int) ([][]float32, error) {
	whole, err := p.Tensor(rgb, width, height)
	if err != nil {
		return nil, err
	}
	if p.Views <= 1 {
		return [][]float32{whole}, nil
	}
	middle, err := p.Tensor(cropMiddle(rgb, width, height))
	if err != nil {
		return nil, err
	}
	for row := range slices.Chunk(middle, p.Width) {
		slices.Reverse(row)
	}
	return [][]float32{whole, middle}, nil
}

// cropMiddle cuts the middle out of a picture.
func cropMiddle(rgb []byte, width, height int) (middle []byte, w, h int) {
	w, h = max(1, width*middleShare/8), max(1, height*middleShare/8)
	left, top := (width-w)/2, (height-h)/2
	middle = make([]byte, 0, 3*w*h)
	for y := top; y < top+h; y++ {
		middle = append(middle, rgb[3*(y*width+left):][:3*w]...)
	}
	return middle, w, h
}

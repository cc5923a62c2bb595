package encoder

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cpar/encoder/onnx"
	"cpar/internal/hint"
)

const maxSide = 4096 // pixels

// An imageInput describes the network input that takes the image.
type imageInput struct {
	name          string
	elements      onnx.Type // Float, Float16 or Uint8
	channelsLast  bool      // whether the shape is 1×H×W×3, otherwise it is 1×3×H×W
	height, width int       // in pixels, 0 where the file leaves them open
	others        []string  // names of further inputs, on which no embedding may depend
}

// findInput finds the only input of a graph that can hold an image. Field
// `others` lists further inputs, such as the text of an image-text network.
func findInput(g *onnx.Graph) (imageInput, error) {
	var found []imageInput
	inputs := g.FreeInputs()
	for _, in := range inputs {
		if image, ok := asImage(in); ok {
			found = append(found, image)
		}
	}
	if len(inputs) == 0 {
		return imageInput{}, errors.New("it has no input")
	}
	if len(found) == 0 {
		for _, in := range inputs {
			if is := otherInput(in); is != "" {
				return imageInput{}, fmt.Errorf("it is %s, and not an encoder of photos: see its input %.80q, %s of shape %s", is, in.Name, in.Type, formatDims(in.Dims))
			}
		}
	}
	switch {
	case len(found) == 0 && len(inputs) == 1:
		in := inputs[0]
		return imageInput{}, hint.Add(fmt.Errorf("its input %.80q, %s of shape %s, is not an image: 1×3×H×W or 1×H×W×3 of float, float16 or uint8 with sides up to %d is needed",
			in.Name, in.Type, formatDims(in.Dims), maxSide), "a network for several images at once must be exported with an open batch size or a batch size of 1")
	case len(found) == 0:
		return imageInput{}, fmt.Errorf("none of its %d inputs is an image, 1×3×H×W or 1×H×W×3 of float, float16 or uint8", len(inputs))
	case len(found) > 1:
		return imageInput{}, fmt.Errorf("it has two inputs that are images, %.80q and %.80q; a network that takes one image is needed", found[0].name, found[1].name)
	}
	image := found[0]
	for _, in := range inputs {
		if in.Name != image.name {
			image.others = append(image.others, in.Name)
		}
	}
	return image, nil
}

// asImage interprets an input as an image. If all dimensions are open, it
// assumes that channels come first, as in nearly all exported files.
func asImage(in onnx.ValueInfo) (imageInput, bool) {
	image := imageInput{name: in.Name, elements: in.Type}
	if in.Name == "" || len(in.Dims) != 4 || !slices.Contains([]onnx.Type{onnx.Float, onnx.Float16, onnx.Uint8}, in.Type) {
		return image, false
	}
	d := slices.Clone(in.Dims)
	image.channelsLast = d[3] == 3 && d[1] != 3
	if image.channelsLast {
		d[1], d[2], d[3] = d[3], d[1], d[2]
	}
	fits := func(have int, wanted ...int) bool { return have == -1 || slices.Contains(wanted, have) }
	if !fits(d[0], 1) || !fits(d[1], 3) {
		return image, false
	}
	for _, side := range d[2:] {
		if side != -1 && (side < 1 || side > maxSide) {
			return image, false
		}
	}
	image.height, image.width = max(d[2], 0), max(d[3], 0)
	return image, true
}

// formatDims writes a shape with ? for open dimensions.
func formatDims(dims []int) string {
	if len(dims) == 0 {
		return "unknown"
	}
	words := make([]string, len(dims))
	for i, d := range dims {
		if words[i] = "?"; d >= 0 {
			words[i] = strconv.Itoa(d)
		}
	}
	return strings.Join(words, "×")
}

func (in imageInput) isOpen() bool { return in.height == 0 || in.width == 0 }

func (in imageInput) sized(height, width int) imageInput {
	in.height = cmp.Or(in.height, height)
	in.width = cmp.Or(in.width, width)
	return in
}

func (in imageInput) shape() []int {
	if in.channelsLast {
		return []int{1, in.height, in.width, 3}
	}
	return []int{1, 3, in.height, in.width}
}

func (in imageInput) arranged(image []float32) []float32 {
	if !in.channelsLast {
		return image
	}
	out := make([]float32, len(image))
	plane := in.height * in.width
	for c := range 3 {
		for i, v := range image[c*plane:][:plane] {
			out[3*i+c] = v
		}
	}
	return out
}

// check refuses an image of the wrong size or with non-finite values. If the
// network takes bytes, it also refuses values outside 0 to 255.
func (in imageInput) check(image []float32) error {
	if len(image) != 3*in.height*in.width {
		return fmt.Errorf("the image has %d values, but the network takes 3×%d×%d", len(image), in.height, in.width)
	}
	if !finite(image) {
		return errors.New("the image holds a value that is not a finite number")
	}
	if in.elements == onnx.Uint8 {
		for _, v := range image {
			if v < -0.5 || v > 255.5 {
				return hint.Add(fmt.Errorf("the image holds %g, and the network takes bytes", v), "its preprocessing must leave pixels as they are, 0 to 255")
			}
		}
	}
	return nil
}

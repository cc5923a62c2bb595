package encoder

import (
	"fmt"
	"slices"
	"strings"

	"cpar/encoder/onnx"
	"cpar/internal/hint"
)

// This file recognises networks that do not represent a whole photo by one
// vector, such as detectors. Their outputs often have the shape of tokens or of
// a feature map, and pooling them would give an embedding that means nothing.

// An otherNetworkError states the purpose of a network that is not an encoder.
type otherNetworkError struct{ is, because string }

func (e *otherNetworkError) Error() string {
	return fmt.Sprintf("it is %s, and not an encoder of whole photos: %s", e.is, e.because)
}

const (
	aDetector     = "a detector of objects"
	aKeypointer   = "a network that finds keypoints"
	aSegmenter    = "a segmentation network"
	anImageMaker  = "a network that makes images"
	aDepthNetwork = "a network that estimates depth or another value for each pixel"
)

// smallestImage is the minimum side of images, in pixels, at which output
// shapes reveal a purpose. For smaller images, the last feature map of a
// classifier may be as fine as a segmentation.
const smallestImage = 64

// telling lists parts of output names that reveal a network's purpose.
var telling = []struct {
	is    string
	parts []string
}{
	{aKeypointer, []string{"keypoint", "heatmap", "simcc", "landmark"}},
	{aDetector, []string{"bbox", "boxes", "detection", "nms", "selected_indices"}},
	{aSegmenter, []string{"mask", "segmentation"}},
	{aDepthNetwork, []string{"depth", "disparity"}},
}

// suppressing lists operators that select among a detector's boxes.
var suppressing = []string{"NonMaxSuppression", "RoiAlign", "MaxRoiPool", "BatchedNMS_TRT", "EfficientNMS_TRT"}

// otherPurpose returns an otherNetworkError if outputs, nodes or shapes show
// that the network is not an encoder, otherwise nil. `shape` is a function that
// returns nil for a tensor of unknown shape. An output named like an embedding
// marks an encoder. The name last_hidden_state does not, because one family of
// detectors also has it.
func (c *chooser) otherPurpose(shape func(name string) []int) error {
	var is, because string
	for _, o := range c.outputs {
		if nameRank(o.Name) > nameRank("last_hidden_state") {
			return nil
		}
		dims := shape(o.Name)
		if is != "" || nameRank(o.Name) > 0 {
			continue
		}
		if is = c.purposeOf(o, dims, shape); is != "" {
			because = fmt.Sprintf("see its output %.80q, %s of shape %s", o.Name, o.Type, formatDims(dims))
		}
	}
	if is == "" {
		for _, n := range c.nodes {
			if slices.Contains(suppressing, n.Op) {
				is, because = aDetector, n.Label()+" selects boxes"
			}
		}
	}
	if is == "" {
		return nil
	}
	return hint.Add(&otherNetworkError{is, because},
		"use an encoder such as CLIP, SigLIP or DINOv2, or a classifier (cpar model list); --embedding NAME uses one of its inner tensors anyway")
}

func (c *chooser) purposeOf(o onnx.ValueInfo, dims []int, shape func(string) []int) string {
	name := strings.ToLower(o.Name)
	for _, t := range telling {
		if slices.ContainsFunc(t.parts, func(part string) bool { return strings.Contains(name, part) }) {
			return t.is
		}
	}
	switch {
	case len(dims) == 0 || min(c.height, c.width) < smallestImage:
		return ""
	case c.isBoxes(dims) || c.hasBoxesBeside(o.Name, dims, shape):
		return aDetector
	case isKeypoints(dims):
		return aKeypointer
	}
	if is := c.purposeOfMap(dims, o.Type); is != "" {
		return is
	}
	if o.Type >= onnx.Uint8 && o.Type <= onnx.Int64 && len(c.outputs) == 1 {
		return "a network whose result is integers"
	}
	return ""
}

// isBoxes reports whether a tensor of this shape holds a detector's boxes. One
// axis then counts the cells of several grids, times the anchors (template
// boxes) per cell. The tensor may also hold one of the grids, or boxes already
// selected.
func (c *chooser) isBoxes(dims []int) bool {
	wide := slices.DeleteFunc(slices.Clone(dims), func(d int) bool { return d == 1 })
	switch {
	case len(dims) == 5: // anchors×rows×columns×values
		return slices.ContainsFunc([]int{1, len(dims) - 1}, func(k int) bool { return dims[k] == 85 || dims[k] == 25 })
	case len(dims) == 4 && slices.ContainsFunc([]int{1, 3}, func(k int) bool { return slices.Contains([]int{75, 125, 255, 425}, dims[k]) }):
		return true
	case len(dims) == 3 && dims[1] > 1 && dims[2] >= 4 && dims[2] <= 7: // selected boxes: corners, score, class
		return true
	case len(dims) < 3 || len(wide) != 2:
		return false
	}
	return slices.ContainsFunc(wide, c.countsCells)
}

// countsCells reports whether n is a number of boxes for an image of this size.
// YOLO, SSD and RetinaNet use these strides and numbers of anchors.
func (c *chooser) countsCells(n int) bool {
	for _, strides := range [][]int{{8, 16, 32}, {8, 16, 32, 64}, {16, 32}, {8, 16, 32, 64, 128}, {4, 8, 16, 32}} {
		cells := 0
		for _, s := range strides {
			cells += ((c.height + s - 1) / s) * ((c.width + s - 1) / s)
		}
		for _, anchors := range []int{1, 2, 3, 6, 9} {
			if n > 0 && n == cells*anchors {
				return true
			}
		}
	}
	return false
}

// hasBoxesBeside reports whether an output holds the four coordinates of a box
// for each entry of another output, as in SSD and DETR.
func (c *chooser) hasBoxesBeside(name string, dims []int, shape func(string) []int) bool {
	if len(dims) < 2 || dims[len(dims)-1] != 4 {
		return false
	}
	boxes := dims[len(dims)-2]
	return slices.ContainsFunc(c.outputs, func(o onnx.ValueInfo) bool {
		other := shape(o.Name)
		return o.Name != name && len(other) >= 2 && other[0] == dims[0] && slices.Contains(other[1:], boxes)
	})
}

// isKeypoints reports whether a shape has a common number of points, such as 17
// in COCO, with two coordinates and possibly a score each.
func isKeypoints(dims []int) bool {
	n := len(dims)
	return n >= 3 && (dims[n-1] == 2 || dims[n-1] == 3) && slices.Contains([]int{17, 21, 33, 68, 133}, dims[n-2])
}

// purposeOfMap recognises outputs with at least one value for each square of
// 4×4 pixels. It returns the network's purpose, or "" for other outputs.
// Feature maps of encoders are coarser.
func (c *chooser) purposeOfMap(dims []int, of onnx.Type) string {
	const coarsest = 4
	if c.height == 0 || c.width == 0 || len(dims) < 3 || len(dims) > 4 {
		return ""
	}
	channels := 1
	rows, columns := dims[len(dims)-2], dims[len(dims)-1]
	if len(dims) == 4 {
		channels = dims[1]
		if columns <= 4 && dims[1] > 4 { // channels last
			rows, columns, channels = dims[1], dims[2], dims[3]
		}
	}
	// Tokens also have three axes, but only a map has the image's aspect ratio.
	if rows*coarsest < c.height || columns*coarsest < c.width || rows*c.width != columns*c.height {
		return ""
	}
	switch {
	case of == onnx.Int64 || of == onnx.Int32 || of == onnx.Uint8 && channels == 1:
		return aSegmenter
	case channels == 3:
		return anImageMaker
	case channels == 1 && rows > c.height:
		return anImageMaker
	case channels <= 1:
		return aDepthNetwork
	case rows == c.height:
		return aSegmenter
	}
	return "a network that makes maps, for segmentation or keypoints"
}

// otherInput returns the purpose that a non-image input reveals, or "".
func otherInput(in onnx.ValueInfo) string {
	name := strings.ToLower(in.Name)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
	}
	switch {
	case has("input_ids", "token", "attention_mask", "text"), in.Type == onnx.Int64 && len(in.Dims) <= 2:
		return "a text network"
	case has("audio", "wave", "speech", "mel", "input_features"), len(in.Dims) == 3 && slices.Contains([]int{80, 128}, in.Dims[1]):
		return "an audio network"
	case has("latent", "timestep"), len(in.Dims) == 4 && (in.Dims[1] == 4 || in.Dims[1] == 16):
		return "a part of a diffusion model, whose input is a latent image"
	case len(in.Dims) == 4 && in.Dims[1] == 1:
		return "a network of grey images, such as super-resolution"
	}
	return ""
}

package onnx

import "fmt"

// An outline is a file's structure without weights, sufficient to choose the
// embedding. The decoder skips unknown operators and element types, which ONNX
// Runtime may support, but inspects everything that can hold a tensor.

func (d *decoder) countOutline(t *Tensor) error {
	size := int64(len(t.raw))
	if !t.isRaw {
		size = int64(len(t.body))
	}
	if want := t.rawBytes(); t.isRaw && want >= 0 && want != size {
		return fmt.Errorf("%d bytes of data where its shape %v asks for %d", size, t.Dims, want)
	}
	if t.Type == Double { // plain Go stores float32
		size /= 2
	}
	d.bytes += size
	return nil
}

// checkEmpty refuses unexpected empty constants, because ONNX Runtime up to at
// least 1.22 reads the bounds of such a Clip out of range and crashes.
func (d *decoder) checkEmpty() error {
	for _, n := range d.all {
		if n.Op == "Constant" && n.empty {
			for _, name := range n.Out {
				d.empty[name] = true
			}
		}
	}
	for _, n := range d.all {
		if mayTakeEmpty[n.Op] {
			continue
		}
		for _, name := range n.In {
			if d.empty[name] {
				return fmt.Errorf("%s: its input %.80q is empty", n.Label(), name)
			}
		}
	}
	return nil
}

// mayTakeEmpty are operators that real files use with empty constants: a
// resize's region, a list of no axes, a scalar's shape.
var mayTakeEmpty = map[string]bool{
	"Resize": true, "Upsample": true, "Reshape": true, "Expand": true, "ConstantOfShape": true, "Concat": true,
	"Squeeze": true, "Unsqueeze": true, "ReduceMean": true, "ReduceSum": true, "ReduceMax": true, "Identity": true, "Dropout": true,
	"If": true, "Loop": true,
}

// mustBePositive are attributes by which ONNX Runtime divides unchecked.
var mustBePositive = map[string]bool{
	"strides": true, "dilations": true, "kernel_shape": true, "group": true, "num_groups": true,
	"blocksize": true, "upscale_factor": true,
}

func (a *Attribute) checkPositive() error {
	if !mustBePositive[a.Name] {
		return nil
	}
	list := a.Ints
	if a.Kind == KindInt || a.Kind == 0 && len(list) == 0 {
		list = append(list, a.I) // 0 if omitted
	}
	for _, v := range list {
		if v < 1 {
			return fmt.Errorf("%s holds %d", a.Name, v)
		}
	}
	return nil
}

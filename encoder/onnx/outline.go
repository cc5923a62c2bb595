package onnx

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// An outline is a file's structure without weights, which suffices to choose
// the embedding. The decoder accepts unknown operators and element types,
// because ONNX Runtime may support them. It still inspects everything that can
// hold a tensor.

// errSparse refuses a sparse tensor, because a few bytes of one can request any
// amount of memory.
var errSparse = errors.New("sparse tensors are not supported; save the model without them")

// attributeOf reads an attribute of node n, or the default value of a
// function's attribute. For a function, n is an empty node.
func (d *decoder) attributeOf(f field, n *Node, list *[]*Attribute) error {
	if len(*list) >= maxAttributes {
		return fmt.Errorf("more than %d attributes", maxAttributes)
	}
	a := &Attribute{}
	err := message(f, "attribute", func(b []byte) error { return d.attribute(b, n, a) })
	if !d.outline {
		*list = append(*list, a)
	} else if err == nil {
		err = a.checkPositive()
	}
	return err
}

func (d *decoder) attribute(b []byte, n *Node, a *Attribute) error {
	limit := maxList
	if d.outline {
		limit = maxInts
	}
	return eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			a.Name, err = f.text()
		case 2:
			a.F, err = math.Float32frombits(uint32(f.bits)), f.want(protowire.Fixed32Type)
		case 3:
			a.I, err = f.integer()
		case 4:
			if !d.outline { // it may be long
				a.S, err = f.text()
			}
		case 5, 10: // t, tensors
			a.Other = a.Other || a.Tensor != nil || f.number == 10
			a.Tensor = &Tensor{}
			err = message(f, "tensor", func(b []byte) error { return d.tensor(b, a.Tensor, nil) })
			n.empty = n.empty || a.Tensor.empty()
		case 6, 11: // g, graphs
			a.Other = a.Other || a.Graph != nil || f.number == 11
			a.Graph = &Graph{}
			err = message(f, "graph", func(b []byte) error { return d.graph(b, a.Graph) })
			n.HasGraph, n.inner = true, append(n.inner, a.Graph.names()...)
		case 7:
			a.Floats, err = f.repeatedFloats(a.Floats, limit)
		case 8:
			a.Ints, err = f.repeatedInts(a.Ints, limit)
		case 20:
			var kind int64
			kind, err = f.integer()
			a.Kind = Kind(kind)
		case 21:
			a.Reference, err = f.text()
		case 22, 23: // sparse_tensor, sparse_tensors
			err = errSparse
		case 9, 14, 15:
			a.Other = true
		}
		return err
	})
}

// checkEmpty refuses empty constants as inputs of most operators. For example,
// a Clip with an empty bound makes ONNX Runtime read out of range and crash, up
// to at least version 1.22.
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

// mayTakeEmpty lists operators that real files use with empty constants, such
// as the region of a Resize, a list of no axes, or a scalar's shape.
var mayTakeEmpty = map[string]bool{
	"Resize": true, "Upsample": true, "Reshape": true, "Expand": true, "ConstantOfShape": true, "Concat": true,
	"Squeeze": true, "Unsqueeze": true, "ReduceMean": true, "ReduceSum": true, "ReduceMax": true, "Identity": true, "Dropout": true,
	"If": true, "Loop": true,
}

// mustBePositive lists attributes by which ONNX Runtime divides without
// checking for zero.
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
			return fmt.Errorf("%s holds %d, which is not positive", a.Name, v)
		}
	}
	return nil
}

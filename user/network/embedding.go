package network

import (
	"errors"
	"fmt"
	"slices"

	"cpar/user/network/onnx"
)

var errNoOutput = errors.New("it has no output")

func errNoTensor(name string) error {
	return fmt.Errorf("it has no tensor %.80q to take as the embedding; name one of its outputs", name)
}

func errNotOfImage(name string) error {
	return fmt.Errorf("its tensor %.80q cannot be the embedding: it does not depend on the image", name)
}

// findImage finds the only input that is not a constant, 1×3×H×W; side is what an open
// height or width becomes, 0 means 224.
func findImage(g *onnx.Graph, side int) (name string, shape []int, err error) {
	if side == 0 {
		side = 224
	}
	constant := constants(g)
	for _, in := range g.Inputs {
		if constant[in.Name] {
			continue // before IR 4, constants were also listed as inputs
		}
		if shape != nil {
			return "", nil, fmt.Errorf("it has two inputs, %.80q and %.80q; a network of one image is needed", name, in.Name)
		}
		d := slices.Clone(in.Dims)
		if in.Name == "" || in.Type != onnx.Float || len(d) != 4 {
			return "", nil, fmt.Errorf("its input %.80q is not a float32 image of 1×3×H×W", in.Name)
		}
		for i, open := range []int{1, 3, side, side} {
			if d[i] == -1 {
				d[i] = open
			}
		}
		if d[0] != 1 || d[1] != 3 || d[2] < 1 || d[3] < 1 || d[2] > maxSide || d[3] > maxSide {
			return "", nil, fmt.Errorf("its input %.80q has shape %v; 1×3×H×W with sides up to %d is needed", in.Name, in.Dims, maxSide)
		}
		name, shape = in.Name, d
	}
	if shape == nil {
		return "", nil, errors.New("it has no input")
	}
	return name, shape, nil
}

func constants(g *onnx.Graph) map[string]bool {
	names := map[string]bool{}
	for _, t := range g.Constants {
		names[t.Name] = true
	}
	return names
}

// sorted returns a graph's nodes in an order in which they can run.
func sorted(g *onnx.Graph) ([]*onnx.Node, error) {
	known := constants(g)
	for _, in := range g.Inputs {
		known[in.Name] = true
	}
	return onnx.Sort(g.Nodes, func(name string) bool { return known[name] })
}

// chooseEmbedding determines from Options.Embedding which tensor is the embedding, in the
// same way for every runtime. It reads only what an outline has. nodes are sorted.
func chooseEmbedding(name, image string, nodes []*onnx.Node, g *onnx.Graph) (string, error) {
	if len(g.Outputs) == 0 {
		return "", errNoOutput
	}
	made := dependents(nodes, image)
	if name == "" {
		name = defaultEmbedding(made, nodes, g.Outputs)
	}
	depends, known := made[name]
	switch {
	case name == "", !known && name != image && !constants(g)[name]:
		return "", errNoTensor(name)
	case !depends:
		return "", errNotOfImage(name)
	}
	return name, nil
}

// dependents reports for every output of a node whether it depends on the image.
func dependents(nodes []*onnx.Node, image string) map[string]bool {
	made := map[string]bool{}
	for _, n := range nodes {
		depends := n.HasGraph // a graph may read the image without declaring it
		for _, name := range n.In {
			depends = depends || name == image || made[name]
		}
		for _, name := range n.Out {
			if name != "" {
				made[name] = depends
			}
		}
	}
	return made
}

func defaultEmbedding(made map[string]bool, nodes []*onnx.Node, outputs []onnx.ValueInfo) string {
	if made[usualEmbedding] {
		return usualEmbedding
	}
	for _, n := range slices.Backward(nodes) {
		if (n.Op == "Gemm" || n.Op == "MatMul") && n.Standard() && len(n.In) > 0 {
			return n.In[0]
		}
	}
	if len(outputs) == 1 {
		return outputs[0].Name
	}
	return ""
}

package network

import (
	"errors"
	"fmt"
	"slices"
)

var errNoOutput = errors.New("it has no output")

func errNoTensor(name string) error {
	return fmt.Errorf("it has no tensor %.80q to take as the embedding; name one of its outputs", name)
}

func errNotOfImage(name string) error {
	return fmt.Errorf("its tensor %.80q cannot be the embedding: it does not depend on the image", name)
}

// chooseEmbedding determines from Options.Embedding which tensor is the embedding, in the
// same way for every runtime. It reads only what an outline has. nodes are in sorted
// order.
func (b *builder) chooseEmbedding(name string, nodes []*nodeProto, outputs []valueInfo) (string, error) {
	made := b.dependents(nodes)
	if name == "" {
		name = defaultEmbedding(made, nodes, outputs)
	}
	depends, known := made[name]
	switch {
	case name == "", !known && b.values[name] == nil:
		return "", errNoTensor(name)
	case !depends:
		return "", errNotOfImage(name)
	}
	return name, nil
}

// dependents reports for every output of a node whether it depends on the image.
func (b *builder) dependents(nodes []*nodeProto) map[string]bool {
	made := map[string]bool{}
	for _, n := range nodes {
		depends := n.hasGraph // a graph may read the image without declaring it
		for _, name := range n.in {
			depends = depends || name == b.image.name || made[name]
		}
		for _, name := range n.out {
			if name != "" {
				made[name] = depends
			}
		}
	}
	return made
}

func defaultEmbedding(made map[string]bool, nodes []*nodeProto, outputs []valueInfo) string {
	if made[usualEmbedding] {
		return usualEmbedding
	}
	for _, n := range slices.Backward(nodes) {
		if (n.op == "Gemm" || n.op == "MatMul") && n.standard() && len(n.in) > 0 {
			return n.in[0]
		}
	}
	if len(outputs) == 1 {
		return outputs[0].name
	}
	return ""
}

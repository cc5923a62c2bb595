package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cpar/user/network/onnx"
)

// Missing are operators of a model that Compile does not know, each with its number of
// nodes, as "Name" or "domain.Name".
func Missing(m *onnx.Model) map[string]int {
	missing := map[string]int{}
	for _, n := range m.Graph.Nodes {
		countMissing(n, functionsOf(m), missing, 0)
	}
	return missing
}

// functionKey names an operator of a domain.
func functionKey(domain, op string) string { return domain + "\x00" + op }

func functionsOf(m *onnx.Model) map[string]*onnx.Function {
	functions := map[string]*onnx.Function{}
	for _, f := range m.Functions {
		functions[functionKey(f.Domain, f.Name)] = f
	}
	return functions
}

// countMissing counts a node that is not known, or those in the function that it calls.
func countMissing(n *onnx.Node, functions map[string]*onnx.Function, missing map[string]int, depth int) {
	f := functions[functionKey(n.Domain, n.Op)]
	switch {
	case f != nil && depth < 2: // a function that calls one that calls one is told by its node
		for _, inner := range f.Nodes {
			countMissing(inner, functions, missing, depth+1)
		}
	case f != nil:
	case !n.Standard():
		missing[n.Domain+"."+n.Op]++
	case operators[n.Op] == nil:
		missing[n.Op]++
	}
}

// missingError names all missing operators that the wanted tensors need; nodes are sorted.
func (b *builder) missingError(nodes []*onnx.Node, wanted []string) error {
	need, missing := map[string]bool{}, map[string]int{}
	for _, name := range wanted {
		need[name] = true
	}
	for _, n := range slices.Backward(nodes) {
		if !slices.ContainsFunc(n.Out, func(name string) bool { return need[name] }) {
			continue
		}
		for _, name := range n.Reads() {
			need[name] = name != ""
		}
		countMissing(n, b.functions, missing, 0)
	}
	if len(missing) == 0 {
		return nil
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		nodes := "nodes"
		if missing[name] == 1 {
			nodes = "node"
		}
		list = append(list, fmt.Sprintf("%.80s (%d %s)", name, missing[name], nodes))
		if quantised[name] {
			return onnx.Unsupported("it computes with integers of 8 bits (%s), which only ONNX Runtime does; the same network in float32 or float16 runs here", name)
		}
	}
	return onnx.Unsupported("these operators are not supported by the built-in runtime: %s", strings.Join(list, ", "))
}

// quantised are operators of networks whose weights are integers.
var quantised = map[string]bool{
	"QuantizeLinear": true, "DequantizeLinear": true, "DynamicQuantizeLinear": true, "MatMulInteger": true, "ConvInteger": true,
	"QLinearConv": true, "QLinearMatMul": true, "com.microsoft.DynamicQuantizeMatMul": true, "com.microsoft.MatMulNBits": true,
	"com.microsoft.QLinearAdd": true, "com.microsoft.QAttention": true,
}

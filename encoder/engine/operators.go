package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cpar/encoder/onnx"
)

// operators maps names of operators to compile functions. A compile function
// checks inputs and attributes, determines the output's shape and emits steps.
var operators map[string]func(*call) error

// maxInputs holds the maximum number of inputs of operators whose compile
// functions do not check it.
var maxInputs = map[string]int{
	"Gather": 2, "MatMul": 2, "Gemm": 3, "Where": 3, "Range": 3, "DequantizeLinear": 3,
}

func init() { // in init, because compileIf refers back to operators
	operators = map[string]func(*call) error{
		// products
		"Conv": compileConv, "Gemm": compileGemm, "MatMul": compileMatMul, "Einsum": compileEinsum, "Attention": compileAttention,
		// normalisation
		"BatchNormalization": compileBatchNorm, "LayerNormalization": compileLayerNorm, "RMSNormalization": compileLayerNorm,
		"GroupNormalization": compileGroupNorm, "InstanceNormalization": compileGroupNorm,
		"LRN": compileLRN, "Softmax": compileSoftmax, "LogSoftmax": compileSoftmax,
		// elementwise
		"Clip": compileClip, "Relu": compileRelu, "Gelu": compileGelu, "Not": compileNot,
		"Cast": compileCast, "CastLike": compileCast,
		"Sum": compileMany, "Mean": compileMany, "Min": compileMany, "Max": compileMany, "Where": compileWhere,
		// over axes
		"GlobalAveragePool": compileGlobalPool, "GlobalMaxPool": compileGlobalPool,
		"AveragePool": compilePool, "MaxPool": compilePool,
		"ArgMax": compileArg, "ArgMin": compileArg, "CumSum": compileCumSum,
		// shapes and order
		"Flatten": compileFlatten, "Reshape": compileReshape, "Squeeze": compileSqueeze, "Unsqueeze": compileUnsqueeze,
		"Transpose": compileTranspose, "Concat": compileConcat, "Split": compileSplit, "Slice": compileSlice,
		"Expand": compileExpand, "Tile": compileTile, "Pad": compilePad, "Trilu": compileTrilu,
		"Resize": compileResize, "Upsample": compileResize,
		"Gather": compileGather, "GatherND": compileGatherND, "ScatterND": compileScatterND,
		// constants
		"Constant": compileConstant, "ConstantOfShape": compileConstantOfShape, "Range": compileRange,
		"Shape": compileShape, "Size": compileSize, "DequantizeLinear": compileDequantize,
		// no effect, or an inner graph
		"Identity": compileIdentity, "Dropout": compileIdentity, "If": compileIf,
	}
	for name := range unaries {
		operators[name], maxInputs[name] = compileUnary, 1
	}
	for name := range shaped {
		operators[name] = compileShaped
	}
	for name := range reductions {
		operators[name] = compileReduce
	}
	for name := range binaries {
		if operators[name] == nil && name != "fmod" {
			operators[name], maxInputs[name] = compileBinary, 2
		}
	}
}

// Missing returns the operators that Compile does not support, as "Name" or
// "domain.Name", with their numbers of nodes.
func Missing(m *onnx.Model) map[string]int {
	return countMissing(m.Graph.Nodes, functionsOf(m))
}

func functionKey(domain, op string) string { return domain + "\x00" + op }

func functionsOf(m *onnx.Model) map[string]*onnx.Function {
	functions := map[string]*onnx.Function{}
	for _, f := range m.Functions {
		functions[functionKey(f.Domain, f.Name)] = f
	}
	return functions
}

// countMissing counts nodes with unknown operators, also in called functions.
// It reads each function once per depth, to bound the time.
func countMissing(nodes []*onnx.Node, functions map[string]*onnx.Function) map[string]int {
	missing, calls := map[string]int{}, map[*onnx.Function]int{}
	look := func(nodes []*onnx.Node, times int) {
		for _, n := range nodes {
			switch f := functions[functionKey(n.Domain, n.Op)]; {
			case f != nil:
				calls[f] += times
			case !n.Standard():
				missing[n.Domain+"."+n.Op] += times
			case operators[n.Op] == nil:
				missing[n.Op] += times
			}
		}
	}
	look(nodes, 1)
	for range 2 { // deeper calls are not searched, because compiling reports their missing operators
		now := calls
		calls = map[*onnx.Function]int{}
		for f, times := range now {
			look(f.Nodes, times)
		}
	}
	return missing
}

func (b *builder) missingError(nodes []*onnx.Node, wanted []string) error {
	need := map[string]bool{}
	var needed []*onnx.Node
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
		needed = append(needed, n)
	}
	missing := countMissing(needed, b.functions)
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
			return onnx.Unsupported("it computes with 8-bit integers (%s), which only ONNX Runtime supports; the same network in float32 or float16 runs here", name)
		}
	}
	return onnx.Unsupported("these operators are not supported by the built-in runtime: %s", strings.Join(list, ", "))
}

var quantised = map[string]bool{
	"QuantizeLinear": true, "DynamicQuantizeLinear": true, "MatMulInteger": true, "ConvInteger": true,
	"QLinearConv": true, "QLinearMatMul": true, "com.microsoft.DynamicQuantizeMatMul": true, "com.microsoft.MatMulNBits": true,
	"com.microsoft.QLinearAdd": true, "com.microsoft.QAttention": true,
}

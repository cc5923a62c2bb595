package engine

// operators is everything that can be computed. Each entry checks its inputs and
// attributes, determines the shape of its output and emits the steps.
var operators map[string]func(*call) error

func init() { // not where it is declared: branches lead back to it
	operators = map[string]func(*call) error{
		// products
		"Conv": compileConv, "Gemm": compileGemm, "MatMul": compileMatMul, "Einsum": compileEinsum, "Attention": compileAttention,
		// normalisation
		"BatchNormalization": compileBatchNorm, "LayerNormalization": compileLayerNorm, "RMSNormalization": compileLayerNorm,
		"GroupNormalization": compileGroupNorm, "InstanceNormalization": compileGroupNorm, "LpNormalization": compileLpNorm,
		"LRN": compileLRN, "Softmax": compileSoftmax, "LogSoftmax": compileSoftmax,
		// functions of each element
		"Clip": compileClip, "Relu": compileRelu, "Gelu": compileGelu, "Not": compileNot, "IsInf": compileIsInf,
		"Cast": compileCast, "CastLike": compileCast,
		"Sum": compileMany, "Mean": compileMany, "Min": compileMany, "Max": compileMany, "Where": compileWhere,
		// over axes
		"GlobalAveragePool": compileGlobalPool, "GlobalMaxPool": compileGlobalPool, "GlobalLpPool": compileGlobalPool,
		"AveragePool": compilePool, "MaxPool": compilePool, "LpPool": compilePool,
		"ArgMax": compileArg, "ArgMin": compileArg, "CumSum": compileCumSum,
		// shapes, and elements in another order
		"Flatten": compileFlatten, "Reshape": compileReshape, "Squeeze": compileSqueeze, "Unsqueeze": compileUnsqueeze,
		"Transpose": compileTranspose, "Concat": compileConcat, "Split": compileSplit, "Slice": compileSlice,
		"Expand": compileExpand, "Tile": compileTile, "Pad": compilePad, "Trilu": compileTrilu,
		"DepthToSpace": compileSpaceDepth, "SpaceToDepth": compileSpaceDepth, "Resize": compileResize, "Upsample": compileResize,
		"Gather": compileGather, "GatherElements": compileGatherElements, "GatherND": compileGatherND,
		"ScatterND": compileScatterND, "ScatterElements": compileScatterElements, "OneHot": compileOneHot,
		// constants
		"Constant": compileConstant, "ConstantOfShape": compileConstantOfShape, "Range": compileRange,
		"Shape": compileShape, "Size": compileSize, "NonZero": compileNonZero,
		// nothing, or another graph
		"Identity": compileIdentity, "Dropout": compileIdentity, "If": compileIf,
	}
	for name := range unaries {
		operators[name] = compileUnary
	}
	for name := range shaped {
		operators[name] = compileShaped
	}
	for name := range reductions {
		operators[name] = compileReduce
	}
	for name := range binaries {
		if operators[name] == nil && name != "fmod" {
			operators[name] = compileBinary
		}
	}
}

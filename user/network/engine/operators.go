package engine

// operators is everything that can be computed. Each entry checks its inputs and
// attributes, determines the shape of its output and emits the steps.
var operators map[string]func(*call) error

func init() {
	operators = map[string]func(*call) error{
		"Conv": compileConv, "Gemm": compileGemm, "MatMul": compileMatMul,
		"BatchNormalization": compileBatchNorm,
		"Clip":               compileClip, "Relu": compileRelu, "LeakyRelu": compileLeakyRelu,
		"Sigmoid": compileSigmoid, "HardSigmoid": compileHardSigmoid, "HardSwish": compileHardSwish,
		"Tanh": compileTanh, "Softmax": compileSoftmax,
		"Add": compileBinary, "Sub": compileBinary, "Mul": compileBinary, "Div": compileBinary,
		"GlobalAveragePool": compileGlobalAverage, "ReduceMean": compileReduceMean,
		"AveragePool": compilePool, "MaxPool": compilePool,
		"Flatten": compileFlatten, "Reshape": compileReshape, "Concat": compileConcat,
		"Identity": compileIdentity, "Dropout": compileIdentity, "Constant": compileConstant,
	}
}

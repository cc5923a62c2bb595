package heif

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Compiled WebAssembly runs until it returns: Go can neither stop it nor collect garbage
// meanwhile, so one photo would hold up all others. wazero's own remedy looks at every turn
// of every loop whether time is up, and decodes at 2.3 times the time. Here the decoder is
// interrupted where its functions begin, but for the busiest, which are short.

// busy are the functions of heif.wasm.gz that a photo of 12 megapixels calls more than a
// hundred thousand times, up to 22 million: bits, coefficients, samples, malloc and free. The
// others come to 200,000 calls, and to some tens of milliseconds.
var hotFunctions = map[uint32]bool{
	681: true, 692: true, 694: true, 695: true, 697: true, 742: true, 752: true, 830: true, 843: true,
	850: true, 864: true, 865: true, 866: true, 867: true, 883: true, 1282: true, 1284: true,
}

// watching chooses the functions that are interrupted.
func watching(f api.FunctionDefinition) experimental.FunctionListener {
	if hotFunctions[f.Index()] {
		return nil
	}
	return watch{}
}

type watch struct{}

// Before ends the call when its time is up; wazero turns the panic into an error.
func (watch) Before(ctx context.Context, _ api.Module, _ api.FunctionDefinition, _ []uint64, _ experimental.StackIterator) {
	if err := ctx.Err(); err != nil {
		panic(err)
	}
}

func (watch) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}
func (watch) Abort(context.Context, api.Module, api.FunctionDefinition, error)    {}

//go:build purego || (!amd64 && !arm64)

package f32

var levels = [...]kernels{plainKernels}

func best() level { return plain }

func (level) pack(dst, b []float32, offsets []int, wide int) { packPlain(dst, b, offsets, wide) }

package learn

import (
	"slices"

	"cpar/user/feature"
)

// EmbeddingRow is a network's embedding and the colours of a photo one after the other.
func EmbeddingRow(embedding []float32, v *feature.Vectors) []float32 {
	return slices.Concat(embedding, v.RGB, v.HSV, v.Lab)
}

// EmbeddingSpace is the space of EmbeddingRows.
func EmbeddingSpace(dim int, colours bool) Space {
	return Space{Base: Options{Blocks: []int{dim, feature.ColorDim, feature.ColorDim, feature.ColorDim}},
		Skips: [][]bool{nil, {false, true, true, true}}}
}

package learn

import "cpar/model/feature"

// Row concatenates all features.
func Row(v *feature.Vectors) []float32 {
	var row []float32
	for _, b := range feature.Blocks() {
		row = append(row, b.Of(v)...)
	}
	return row
}

// FeatureGrid is the Space for Rows: all features, or all but gaborq and haarq, whose
// values are phases and signs and not magnitudes.
func FeatureGrid() Grid {
	var lengths []int
	var weights []float32
	var quantised []bool
	for _, b := range feature.Blocks() {
		lengths = append(lengths, b.Len)
		weight := float32(1)
		if b.Name == "patches" {
			weight = 6 // with about half of the kernel, they tell most (docs/quality.md)
		}
		weights = append(weights, weight)
		quantised = append(quantised, b.Kind == feature.Quantised)
	}
	return Grid{Base: Options{Blocks: lengths, Weights: weights}, Skips: [][]bool{nil, quantised}}
}

// EmbeddingRow concatenates a network's embedding, the three colour histograms of v and its patches;
// just the embedding if v is nil.
func EmbeddingRow(embedding []float32, v *feature.Vectors) []float32 {
	row := append([]float32(nil), embedding...)
	if v != nil {
		for _, x := range [][]float32{v.RGB, v.HSV, v.Lab, v.Patches} {
			row = append(row, x...)
		}
	}
	return row
}

// EmbeddingGrid is the Space for rows that are embeddings of dim values. With
// features, cross-validation decides whether they help. With up to 4,000 values an index
// of 20,000 photos stays below 25 MB.
func EmbeddingGrid(dim int, features bool) Grid {
	s := Grid{Base: Options{Blocks: []int{dim}}}
	if features {
		s.Base.Blocks = append(s.Base.Blocks, feature.ColorDim, feature.ColorDim, feature.ColorDim, feature.PatchDim)
		s.Skips = [][]bool{nil, {false, true, true, true, true}}
		// An embedding says more than they do.
		s.Base.Weights = []float32{2, 1, 1, 1, 1}
	}
	return s
}

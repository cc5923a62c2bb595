package learn

import "cpar/model/feature"

// Row concatenates all features of a photo.
func Row(v *feature.Vectors) []float32 {
	var row []float32
	for _, b := range feature.Blocks() {
		row = append(row, b.Of(v)...)
	}
	return row
}

// FeatureGrid returns the Grid for Row: all features, or all but gaborq and
// haarq, which are phases and signs rather than magnitudes.
func FeatureGrid() Grid {
	var lengths []int
	var weights []float32
	var quantised []bool
	for _, b := range feature.Blocks() {
		lengths = append(lengths, b.Len)
		weight := float32(1)
		if b.Name == "patches" {
			weight = 6 // about half of the kernel: patches are the most informative (docs/quality.md)
		}
		weights = append(weights, weight)
		quantised = append(quantised, b.Kind == feature.Quantised)
	}
	return Grid{Base: Options{Blocks: lengths, Weights: weights}, Skips: [][]bool{nil, quantised}}
}

// EmbeddingRow concatenates a network's embedding with the colour histograms
// and patches of v, or returns just the embedding if v is nil.
func EmbeddingRow(embedding []float32, v *feature.Vectors) []float32 {
	row := append([]float32(nil), embedding...)
	if v != nil {
		for _, x := range [][]float32{v.RGB, v.HSV, v.Lab, v.Patches} {
			row = append(row, x...)
		}
	}
	return row
}

// EmbeddingGrid returns the Grid for embeddings of dim values. With features,
// cross-validation decides whether the features help.
func EmbeddingGrid(dim int, features bool) Grid {
	s := Grid{Base: Options{Blocks: []int{dim}}}
	if features {
		s.Base.Blocks = append(s.Base.Blocks, feature.ColorDim, feature.ColorDim, feature.ColorDim, feature.PatchDim)
		s.Skips = [][]bool{nil, {false, true, true, true, true}}
		// An embedding is more informative than the features.
		s.Base.Weights = []float32{2, 1, 1, 1, 1}
	}
	return s
}

package encoder

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"cpar/encoder/prepare"
)

// commonSides are image sizes common in training.
var commonSides = []int{224, 256, 336, 384, 288, 240, 299, 320, 378, 392, 416, 448, 512, 518, 192, 196, 160, 128, 112}

const maxTried = 2_000_000

// Recall finds the options under which a model file has a given digest
// (Encoder.Digest), so that cpar can report the options of an index. It
// searches named and adjacent preprocessing, views, tensors, pooling and sizes,
// and runs nothing.
func Recall(path string, want [sha256.Size]byte, opt OpenOptions) (with OpenOptions, ok bool) {
	opt.Runtime = Go
	err := withModel(path, opt, func(s *parsedModel, _ string) error {
		names := s.embeddingCandidates(opt.Embedding)
		tried := 0
		for _, named := range slices.Compact(append([]string{opt.Preprocessing, ""}, prepare.Presets()...)) {
			for views := range prepare.MostViews {
				o := opt
				o.Preprocessing, o.Views = named, views+1
				how, err := s.preparation(path, o)
				if err != nil {
					continue
				}
				if with, ok = s.searchOptions(how, names, o, want, &tried); ok || tried > maxTried {
					return nil
				}
			}
		}
		return nil
	})
	return with, err == nil && ok
}

// searchOptions tries tensors, pooling and sizes.
func (s *parsedModel) searchOptions(how preparation, names []string, o OpenOptions, want [sha256.Size]byte, tried *int) (with OpenOptions, ok bool) {
	side := cmp.Or(o.Side, how.side())
	for _, size := range s.sizes(side) {
		p, _, err := how.forSize(size[0], size[1])
		if err != nil {
			continue
		}
		for _, o.Embedding = range names {
			for _, o.Pool = range []string{"", PoolClass, PoolMean} {
				if *tried++; *tried > maxTried {
					return o, false
				}
				if digest, err := digestOf(s.digest, o.Embedding, o.Pool, p); err == nil && digest == want {
					if s.input.isOpen() && size[0] != side {
						o.Side = size[0]
					}
					return o, true
				}
			}
		}
	}
	return o, false
}

func (s *parsedModel) embeddingCandidates(first string) []string {
	names := []string{first, defaultEmbedding}
	for _, o := range s.model.Graph.Outputs {
		names = append(names, o.Name)
	}
	for _, n := range slices.Backward(s.nodes) {
		names = append(names, n.Out...)
	}
	return names
}

func (s *parsedModel) sizes(side int) (all [][2]int) {
	if !s.input.isOpen() {
		return [][2]int{{s.input.height, s.input.width}}
	}
	for _, n := range append([]int{side}, commonSides...) {
		if n > 0 {
			all = append(all, [2]int{n, n})
		}
	}
	return all
}

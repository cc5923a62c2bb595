package encoder

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"cpar/encoder/engine"
	"cpar/encoder/prepare"
)

// A Report describes a model file without running it on images.
type Report struct {
	Embedding        Choice
	Input            string                // type and shape
	Preprocessing    prepare.Preprocessing // undefined if PreprocessingErr is set
	From             string                // the source of the preprocessing
	PreprocessingErr error                 // why there is no preprocessing
	// Missing is the sorted list of operators that the file uses and plain Go
	// lacks. It is empty if plain Go can compute the embedding.
	Missing []string
	// GoErr is the reason why plain Go cannot run the file, or nil.
	GoErr error
	// EmbeddingErr is the reason why no tensor was chosen, or nil.
	EmbeddingErr error
}

// Inspect describes how plain Go would run a model file. It ignores
// opt.Runtime. It fails only if the file or its configuration cannot be read.
// Errors wrap cpar.ErrInput.
func Inspect(path string, opt OpenOptions) (Report, error) {
	var r Report
	opt.Runtime = Go
	err := withModel(path, opt, func(s *parsedModel, _ string) error {
		how, err := s.preparation(path, opt)
		if err != nil {
			return err
		}
		r.Missing = append([]string{}, slices.Sorted(maps.Keys(engine.Missing(s.model)))...)
		e, err := s.start(Go, opt.Options, cmp.Or(opt.Side, how.side()))
		if err == nil {
			r.Embedding, r.Missing = e.Choice(), []string{}
			err = e.Close()
		} else {
			r.GoErr = errLoading(err)
			if err = s.chooseDeclared(opt.Options, err); err != nil {
				r.EmbeddingErr = errLoading(err)
			}
			r.Embedding, err = s.choice, nil
		}
		r.Input = fmt.Sprintf("%s, %s", formatDims(s.input.shape()), s.input.elements)
		if !s.input.isOpen() {
			r.Preprocessing, r.From, r.PreprocessingErr = how.forSize(s.input.height, s.input.width)
		}
		return err
	})
	return r, err
}

// chooseDeclared determines the embedding from the shapes that the file
// declares. If the shapes do not suffice, it returns `because`, the reason why
// the network did not start.
func (s *parsedModel) chooseDeclared(options Options, because error) error {
	c := s.chooser(func(name string) ([]int, error) {
		if dims := s.declared(name); dims != nil && !slices.Contains(dims, -1) {
			return dims, nil
		}
		return nil, errUnknownShape{name}
	})
	c.lenient = true
	choice, err := c.choose(options.Embedding, options.Pool)
	s.choice = choice
	if err != nil && c.skipped {
		return because
	}
	return err
}

// commonSides are common sides of training images, the most common first.
var commonSides = []int{224, 256, 336, 384, 288, 240, 299, 320, 378, 392, 416, 448, 512, 518, 192, 196, 160, 128, 112}

const maxTried = 2_000_000 // maximum number of digests that Recall computes

// Recall finds the options under which a model file has a given digest
// (Encoder.Digest), so that cpar can report the options of an index. It tries
// combinations of preprocessing (named, found beside the file, or a preset),
// views, tensor, pooling and image size, without running the network.
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

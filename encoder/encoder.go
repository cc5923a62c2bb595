package encoder

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cpar"
	"cpar/encoder/bundled"
	"cpar/encoder/known"
	"cpar/encoder/onnx"
	"cpar/encoder/prepare"
	"cpar/internal/hint"
	"cpar/model/feature"
	"cpar/photo/decode"
)

// An Encoder computes embeddings of decoded images: it combines an image
// network with the preprocessing of its input. It is safe for concurrent use.
type Encoder struct {
	embedder      Embedder
	preprocessing prepare.Preprocessing
	from          string // where the preprocessing was found
	digest        [sha256.Size]byte
}

// OpenOptions configure Open. The zero value suits a model file that comes with
// a description of its preprocessing.
type OpenOptions struct {
	Options
	// Runtime is Auto (or ""), Go or ONNXRuntime.
	Runtime string
	// Preprocessing names a preset or a configuration file. If it is empty,
	// Open tries files beside the model (prepare.Find), the model's metadata,
	// and the known models (package known).
	Preprocessing string
	// Views is the number of views (crops and mirror images) whose embeddings
	// are averaged per image. Zero selects the number in the preprocessing's
	// configuration file or, if it has none, prepare.MostViews.
	Views prepare.Views
}

// Open opens a model file and the files it names, finds its preprocessing, and
// tries the network on two synthetic images. The path bundled.Name stands for
// the network inside the program. Errors wrap cpar.ErrInput.
func Open(path string, opt OpenOptions) (*Encoder, error) {
	var e *Encoder
	err := withModel(path, opt, func(s *parsedModel, runtime string) error {
		how, err := s.preparation(path, opt)
		if err != nil {
			return err
		}
		embedder, err := s.start(runtime, opt.Options, cmp.Or(opt.Side, how.side()))
		if err != nil {
			return err
		}
		height, width := embedder.Size()
		p, from, err := how.forSize(height, width)
		if err == nil {
			e, err = NewEncoder(embedder, p)
		}
		if err == nil {
			e.from = from
			err = e.try()
		}
		if err != nil {
			_ = embedder.Close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// withModel calls function `use` with the parsed model. The function must not
// keep pointers into the file.
func withModel(path string, opt OpenOptions, use func(s *parsedModel, runtime string) error) error {
	runtime, err := resolve(opt.Runtime, opt.Library)
	var f *onnx.File
	if err == nil {
		f, err = openFile(path, opt.Limits)
	}
	if err == nil {
		err = onnx.Guard(func() error {
			s, err := read(f.Data, runtime, opt.Options, f.External)
			if err != nil {
				return err
			}
			s.digest = f.Digest()
			return use(s, runtime)
		})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, errLoading(err))
	}
	return nil
}

func openFile(path string, limits Limits) (*onnx.File, error) {
	if path != bundled.Name {
		return onnx.Open(path, limits)
	}
	data, err := bundled.Model()
	if err != nil {
		return nil, err
	}
	return onnx.InMemory(data, limits), nil
}

func NewEncoder(e Embedder, p prepare.Preprocessing) (*Encoder, error) {
	height, width := e.Size()
	if p.Width != width || p.Height != height {
		return nil, fmt.Errorf("preparing images: %w: %d×%d pixels for a network of %d×%d", cpar.ErrInput, p.Width, p.Height, width, height)
	}
	choice := e.Choice()
	digest, err := digestOf(e.Digest(), choice.Name, choice.Pool, p)
	if err != nil {
		return nil, err
	}
	return &Encoder{embedder: e, preprocessing: p, digest: digest}, nil
}

// digestOf returns the encoder digest. Indexes store it, so it must not change.
func digestOf(model [sha256.Size]byte, name, pool string, p prepare.Preprocessing) (digest [sha256.Size]byte, err error) {
	if p.Views == 1 {
		p.Views = 0 // keeps the digests from before views existed
	}
	how, err := json.Marshal(p) // the fixed order of struct fields makes the encoding unique
	if err != nil {
		return digest, fmt.Errorf("preparing images: %w: %w", cpar.ErrInput, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "cpar/v1/network %x %q %s", model, name, how)
	if pool != "" {
		fmt.Fprintf(h, " pooled %q", pool)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

type preparation struct {
	config   *prepare.Config
	metadata map[string]string
	digest   [sha256.Size]byte
	views    prepare.Views
}

// preparation gathers the sources from which the preprocessing is determined.
func (s *parsedModel) preparation(path string, opt OpenOptions) (preparation, error) {
	if path == bundled.Name {
		path = "" // so that no file in the working folder is taken for its configuration
	}
	config, err := prepare.Find(path, opt.Preprocessing)
	if err == nil {
		err = opt.Views.Check()
	}
	return preparation{config, s.metadata, s.digest, opt.Views}, err
}

// side returns the image side in pixels for a model that accepts any size, or 0
// if unknown.
func (p preparation) side() int {
	if p.config != nil {
		return p.config.Side()
	}
	_, images, _ := known.ByDigest(p.digest)
	return images.Size
}

func (p preparation) forSize(height, width int) (how prepare.Preprocessing, from string, err error) {
	ok := p.config != nil
	if ok {
		how, from, err = p.config.For(height, width)
	} else {
		from = "the model's metadata"
		how, ok, err = prepare.FromMetadata(p.metadata, height, width)
	}
	if name, images, known := known.ByDigest(p.digest); err == nil && !ok && known && images.Size == height && images.Size == width {
		how, from, ok = images.Preprocessing, "the known preprocessing of "+name, true
	}
	if err == nil && !ok {
		from, err = "", hint.Add(fmt.Errorf("%w: the file contains no preprocessing", cpar.ErrInput),
			"put the preprocessor_config.json, preprocess_cfg.json, open_clip_config.json or config.json that came with the model beside it, "+
				"or pass --preprocessing with such a file or a preset (%s); docs/preprocessing.md shows a file of your own", strings.Join(prepare.Presets(), ", "))
	}
	how.Views = cmp.Or(p.views, how.Views, prepare.MostViews)
	return how, from, err
}

// Digest identifies the model file, the embedding tensor with its pooling, and
// the preprocessing. It does not depend on the runtime, because all runtimes
// agree within 10⁻⁴.
func (n *Encoder) Digest() [sha256.Size]byte { return n.digest }

func (n *Encoder) Choice() Choice { return n.embedder.Choice() }

func (n *Encoder) Preprocessing() (p prepare.Preprocessing, from string) {
	return n.preprocessing, n.from
}

func (n *Encoder) Runtime() string { return n.embedder.Runtime() }

// RuntimeName describes the runtime for display. For ONNX Runtime, it includes
// the library's release and file.
func (n *Encoder) RuntimeName() string {
	if m, ok := n.embedder.(*Model); ok {
		return m.name
	}
	return n.embedder.Runtime()
}

func (n *Encoder) String() string { return fmt.Sprintf("network %x", n.digest[:8]) }

func (n *Encoder) Embed(p *decode.Image) ([]float32, error) {
	views, err := n.preprocessing.Tensors(p.RGB, p.Width, p.Height)
	if err != nil {
		return nil, err
	}
	var mean []float32
	for _, image := range views {
		embedding, err := n.embedder.Embed(image)
		if err != nil {
			return nil, err
		}
		if mean == nil {
			mean = make([]float32, len(embedding))
		}
		for i, x := range embedding {
			mean[i] += x / float32(len(views))
		}
	}
	return mean, nil
}

func (n *Encoder) Close() error { return n.embedder.Close() }

var _ feature.Encoder = (*Encoder)(nil)

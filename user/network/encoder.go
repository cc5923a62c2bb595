package network

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/feature"
	"cpar/user/picture"
)

// An Encoder is an image network with its preprocessing, as used by profile network:
// picture ─▶ embedding. It is safe for concurrent use.
type Encoder struct {
	embedder      Embedder
	preprocessing Preprocessing
	digest        [sha256.Size]byte
}

// OpenOptions say how to open a model file. The zero value works for a file with its own
// preprocessing.
type OpenOptions struct {
	Options
	// Runtime is Auto (or ""), Go or ONNXRuntime.
	Runtime string
	// Preprocessing names a preset or a sidecar file. If empty, MODEL.json beside
	// MODEL.onnx is used, or else the model's metadata.
	Preprocessing string
}

// Open opens a model file and finds its preprocessing. Errors wrap cpar.ErrInput.
func Open(path string, opt OpenOptions) (*Encoder, error) {
	e, _, err := OpenWith(cmp.Or(opt.Runtime, Auto), path, opt.Options)
	if err != nil {
		return nil, err
	}
	p, err := preprocessing(e, path, opt.Preprocessing)
	if err != nil {
		return nil, fmt.Errorf("opening network %s: %w", path, err)
	}
	return NewEncoder(e, p)
}

// NewEncoder returns an encoder for an open model.
func NewEncoder(e Embedder, p Preprocessing) (*Encoder, error) {
	height, width := e.Size()
	if p.Width != width || p.Height != height {
		return nil, fmt.Errorf("preparing pictures: %w: %d×%d pixels for a network of %d×%d", cpar.ErrInput, p.Width, p.Height, width, height)
	}
	how, err := json.Marshal(p) // fields in order: a single encoding
	if err != nil {
		return nil, fmt.Errorf("preparing pictures: %w: %w", cpar.ErrInput, err)
	}
	name, _ := e.Embedding()
	model := e.Digest()
	h := sha256.New()
	fmt.Fprintf(h, "cpar/v1/network %x %q %s", model, name, how)
	return &Encoder{embedder: e, preprocessing: p, digest: [sha256.Size]byte(h.Sum(nil))}, nil
}

func preprocessing(e Embedder, path, named string) (Preprocessing, error) {
	height, width := e.Size()
	if slices.Contains(Presets(), named) {
		if height != width {
			return Preprocessing{}, fmt.Errorf("%w: preset %s is for square pictures, the network takes %d×%d", cpar.ErrInput, named, height, width)
		}
		return Preset(named, width)
	}
	sidecar := named
	if sidecar == "" {
		sidecar = strings.TrimSuffix(path, filepath.Ext(path)) + ".json"
	}
	f, err := os.Open(sidecar)
	switch {
	case err == nil:
		defer f.Close()
		p, err := ReadPreprocessing(f, height, width)
		if err != nil {
			return p, fmt.Errorf("reading %s: %w", sidecar, err)
		}
		return p, nil
	case named != "" || !os.IsNotExist(err):
		if os.IsNotExist(err) {
			return Preprocessing{}, hint.Add(fmt.Errorf("%w: there is no preset and no file %s", cpar.ErrInput, named), "presets are %s", strings.Join(Presets(), ", "))
		}
		return Preprocessing{}, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	p, ok, err := e.Preprocessing()
	if err == nil && !ok {
		err = hint.Add(fmt.Errorf("%w: the file does not say how to prepare pictures", cpar.ErrInput),
			"pass --preprocessing with a preset (%s) or a file; CONTRIBUTING.md shows one", strings.Join(Presets(), ", "))
	}
	return p, err
}

// Digest identifies the model file, the embedding tensor and the preprocessing. It does
// not include the runtime: runtimes agree within 10⁻⁴.
func (n *Encoder) Digest() [sha256.Size]byte { return n.digest }

// Runtime names the runtime of the network.
func (n *Encoder) Runtime() string { return n.embedder.Runtime() }

func (n *Encoder) String() string { return fmt.Sprintf("network %x", n.digest[:8]) }

// Embed returns the embedding of a picture.
func (n *Encoder) Embed(p *picture.Picture) ([]float32, error) {
	image, err := n.preprocessing.Tensor(p.RGB, p.Width, p.Height)
	if err != nil {
		return nil, err
	}
	return n.embedder.Embed(image)
}

var _ feature.Network = (*Encoder)(nil)

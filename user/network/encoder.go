package network

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/feature"
	"cpar/user/network/known"
	"cpar/user/network/prepare"
	"cpar/user/picture"
)

// An Encoder is an image network with its preprocessing, as used by profile network:
// picture ─▶ embedding. It is safe for concurrent use.
type Encoder struct {
	embedder      Embedder
	preprocessing prepare.Preprocessing
	prepared      string
	digest        [sha256.Size]byte
}

// OpenOptions say how to open a model file. The zero value works for a file with its own
// preprocessing.
type OpenOptions struct {
	Options
	// Runtime is Auto (or ""), Go or ONNXRuntime.
	Runtime string
	// Preprocessing names a preset or a configuration file of any kind (package prepare).
	// If empty, prepare.Find looks beside the model; else the model's metadata decide.
	Preprocessing string
}

// Open opens a model file and finds its preprocessing. Errors wrap cpar.ErrInput.
func Open(path string, opt OpenOptions) (*Encoder, error) {
	config, err := prepare.Find(path, opt.Preprocessing)
	if err != nil {
		return nil, fmt.Errorf("opening network %s: %w", path, err)
	}
	if opt.Side == 0 {
		opt.Side = config.Side()
	}
	e, _, err := OpenWith(cmp.Or(opt.Runtime, Auto), path, opt.Options)
	if err != nil {
		return nil, err
	}
	p, from, err := preprocessing(e, config)
	if err != nil {
		e.Close()
		return nil, fmt.Errorf("opening network %s: %w", path, err)
	}
	n, err := NewEncoder(e, p)
	if err == nil {
		n.prepared = from
	}
	return n, err
}

// NewEncoder returns an encoder for an open model.
func NewEncoder(e Embedder, p prepare.Preprocessing) (*Encoder, error) {
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

// preprocessing is, in this order, what the configuration says, what the file's metadata
// say, or what is known of its digest.
func preprocessing(e Embedder, config *prepare.Config) (p prepare.Preprocessing, from string, err error) {
	height, width := e.Size()
	if config != nil {
		return config.For(height, width)
	}
	p, ok, err := e.Preprocessing()
	if ok || err != nil {
		return p, "the model's metadata", err
	}
	if m, ok := known.ByDigest(e.Digest()); ok && m.Size == height && m.Size == width {
		return m.Preprocessing, "what is known of " + m.Name, nil
	}
	return p, "", hint.Add(fmt.Errorf("%w: the file does not say how to prepare pictures", cpar.ErrInput),
		"put the preprocessor_config.json, preprocess_cfg.json, open_clip_config.json or config.json that came with it beside it, "+
			"or pass --preprocessing with such a file or a preset (%s); the README shows a file of your own", strings.Join(prepare.Presets(), ", "))
}

// Digest identifies the model file, the embedding tensor and the preprocessing. It does
// not include the runtime: runtimes agree within 10⁻⁴.
func (n *Encoder) Digest() [sha256.Size]byte { return n.digest }

// Runtime names the runtime of the network.
func (n *Encoder) Runtime() string { return n.embedder.Runtime() }

// Preprocessing returns how pictures are prepared, and says where that is from.
func (n *Encoder) Preprocessing() (p prepare.Preprocessing, from string) {
	return n.preprocessing, n.prepared
}

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

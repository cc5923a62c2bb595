package user

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/feature"
	"cpar/user/network"
	"cpar/user/network/onnxruntime"
	"cpar/user/picture"
)

// A Network is an image network with its preprocessing, as profile `network` uses
// it. It is safe for concurrent use.
type Network struct {
	embedder      network.Embedder
	preprocessing network.Preprocessing
	digest        [sha256.Size]byte
	fallback      error
}

// NetworkOptions say how a model file is opened; the zero value will do for one
// that says itself how pictures are prepared.
type NetworkOptions struct {
	network.Options
	// Runtime is "auto" (or ""), "go" or "onnxruntime".
	Runtime string
	// Preprocessing is the name of a preset or a sidecar file. Where it is empty,
	// MODEL.json beside MODEL.onnx counts, or else the model's own metadata.
	Preprocessing string
}

// OpenNetwork opens a model file and finds out how pictures are prepared for it.
func OpenNetwork(path string, opt NetworkOptions) (*Network, error) {
	e, fallback, err := network.OpenWith(cmp.Or(opt.Runtime, network.Auto), path, opt.Options)
	if err != nil {
		return nil, err
	}
	p, err := preprocessing(e, path, opt.Preprocessing)
	if err != nil {
		return nil, fmt.Errorf("opening network %s: %w", path, err)
	}
	n, err := NewNetwork(e, p)
	if err == nil && !errors.Is(fallback, onnxruntime.ErrNotFound) {
		n.fallback = fallback
	}
	return n, err
}

// Fallback says why ONNX Runtime does not run the network although it is there;
// nil where it does, or is not installed, or was not wanted.
func (n *Network) Fallback() error { return n.fallback }

// NewNetwork is a network of a model that is open.
func NewNetwork(e network.Embedder, p network.Preprocessing) (*Network, error) {
	height, width := e.Size()
	if p.Width != width || p.Height != height {
		return nil, fmt.Errorf("preparing pictures: %w: %d×%d pixels for a network of %d×%d", cpar.ErrInput, p.Width, p.Height, width, height)
	}
	how, err := json.Marshal(p) // the fields in their order: one encoding
	if err != nil {
		return nil, fmt.Errorf("preparing pictures: %w: %w", cpar.ErrInput, err)
	}
	name, _ := e.Embedding()
	model := e.Digest()
	h := sha256.New()
	fmt.Fprintf(h, "cpar/v1/network %x %q %s", model, name, how)
	n := &Network{embedder: e, preprocessing: p}
	h.Sum(n.digest[:0])
	return n, nil
}

func preprocessing(e network.Embedder, path, named string) (network.Preprocessing, error) {
	height, width := e.Size()
	if slices.Contains(network.Presets(), named) {
		if height != width {
			return network.Preprocessing{}, fmt.Errorf("%w: preset %s is for square pictures, the network takes %d×%d", cpar.ErrInput, named, height, width)
		}
		return network.Preset(named, width)
	}
	sidecar := named
	if sidecar == "" {
		sidecar = strings.TrimSuffix(path, filepath.Ext(path)) + ".json"
	}
	f, err := os.Open(sidecar)
	switch {
	case err == nil:
		defer f.Close()
		p, err := network.ReadPreprocessing(f, height, width)
		if err != nil {
			return p, fmt.Errorf("reading %s: %w", sidecar, err)
		}
		return p, nil
	case named != "" || !os.IsNotExist(err):
		if os.IsNotExist(err) {
			return network.Preprocessing{}, hint.Add(fmt.Errorf("%w: there is no preset and no file %s", cpar.ErrInput, named), "presets are %s", strings.Join(network.Presets(), ", "))
		}
		return network.Preprocessing{}, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	p, ok, err := e.Preprocessing()
	if err == nil && !ok {
		err = hint.Add(fmt.Errorf("%w: the file does not say how pictures are prepared", cpar.ErrInput),
			"pass --preprocessing with a preset (%s) or a file; CONTRIBUTING.md shows one", strings.Join(network.Presets(), ", "))
	}
	return p, err
}

// Digest names the model file, the tensor that is the embedding and the
// preprocessing. The runtime is no part of it: runtimes agree within 10⁻⁴.
func (n *Network) Digest() [sha256.Size]byte { return n.digest }

// Runtime names what runs the network.
func (n *Network) Runtime() string { return n.embedder.Runtime() }

func (n *Network) String() string { return fmt.Sprintf("network %x", n.digest[:8]) }

// Embed is the embedding of a picture.
func (n *Network) Embed(p *picture.Picture) ([]float32, error) {
	image, err := n.preprocessing.Tensor(p.RGB, p.Width, p.Height)
	if err != nil {
		return nil, err
	}
	return n.embedder.Embed(image)
}

var _ feature.Network = (*Network)(nil)

// Use gives the owner the image network that the index was built with. Another
// one is refused (ErrInput), and so is none for an index of profile `network`. With
// other profiles nothing is needed and nothing kept.
func (o *Owner) Use(n *Network) error {
	f, ok := o.profile.front.(*embeddedFront)
	switch {
	case !ok || f.profile != ProfileNetwork:
		return nil
	case n == nil:
		return fmt.Errorf("opening index %v: %w", o.ID(), f.noNetwork())
	case n.digest != f.network:
		return fmt.Errorf("opening index %v: %w", o.ID(), f.otherNetwork(n.digest))
	}
	o.network.Store(n)
	return nil
}

// NetworkDigest is the Network.Digest that Use will take; ok is false where the
// index needs none.
func (o *Owner) NetworkDigest() (digest [sha256.Size]byte, ok bool) {
	f, ok := o.profile.front.(*embeddedFront)
	if !ok || f.profile != ProfileNetwork {
		return digest, false
	}
	return f.network, true
}

var extractors = sync.Pool{New: func() any { return feature.NewExtractor() }}

// Features decodes a photo and computes what the index's profile needs of it.
func (o *Owner) Features(photo []byte) (*feature.Vectors, error) {
	var opts feature.Options
	if n := o.network.Load(); n != nil {
		opts.Network = n
	}
	e := extractors.Get().(*feature.Extractor)
	defer extractors.Put(e)
	return e.Photo(photo, opts)
}

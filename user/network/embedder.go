package network

import "crypto/sha256"

type Embedder interface {
	Embed(image []float32) ([]float32, error)
	Embedding() (name string, dim int)
	Size() (height, width int)
	Digest() [sha256.Size]byte
	Preprocessing() (p Preprocessing, ok bool, err error)
	Runtime() string
}

func (m *Model) Runtime() string { return "go" }

func OpenWith(runtime, path string, options Options) (Embedder, error) { return Open(path, options) }

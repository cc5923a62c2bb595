package pca

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"cpar"
)

// The encoding of a basis in little-endian order, by byte offset:
//
//	 0  magic "cpar.pca" (8 bytes)
//	 8  version uint32 = 1
//	12  in uint32, 1 to 65536
//	16  out uint32, 1 to in
//	20  mean, in × float32
//	 …  components, out × in × float32, row by row
const (
	magic      = "cpar.pca"
	version    = 1
	headerSize = len(magic) + 3*4
	// unitSlack bounds how far the squared length of a decoded component may
	// differ from 1. float32 rounding causes about 10⁻⁷.
	unitSlack = 1e-3
)

// AppendBinary appends the encoding of b to data. The error is always nil.
func (b *Basis) AppendBinary(data []byte) ([]byte, error) {
	data = append(data, magic...)
	for _, n := range []int{version, b.in, b.out} {
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	for _, values := range [][]float32{b.mean, b.components} {
		data, _ = binary.Append(data, binary.LittleEndian, values) // cannot fail for a slice of numbers
	}
	return data, nil
}

func (b *Basis) MarshalBinary() ([]byte, error) { return b.AppendBinary(nil) }

// UnmarshalBinary decodes data without keeping it. It rejects anything that
// could make a projection overflow, but does not check orthogonality, so data
// from an untrusted source must be authenticated first. On error b is
// unchanged. Errors wrap cpar.ErrCorrupt or cpar.ErrVersion.
func (b *Basis) UnmarshalBinary(data []byte) error {
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return fmt.Errorf("decoding a PCA basis: %w: wrong header", cpar.ErrCorrupt)
	}
	field := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(data[len(magic)+4*i:])) }
	if v := field(0); v != version {
		return fmt.Errorf("decoding a PCA basis: %w: %d", cpar.ErrVersion, v)
	}
	in, out := field(1), field(2)
	if in < 1 || in > MaxIn || out < 1 || out > in {
		return fmt.Errorf("decoding a PCA basis: %w: %d components of %d values", cpar.ErrCorrupt, out, in)
	}
	// Check the length before allocating. The largest, 4·(2¹⁶ + 2³²) bytes,
	// cannot overflow.
	if want := uint64(headerSize) + 4*(in+out*in); uint64(len(data)) != want {
		return fmt.Errorf("decoding a PCA basis: %w: %d bytes, want %d", cpar.ErrCorrupt, len(data), want)
	}
	values := make([]float32, in+out*in)
	binary.Decode(data[headerSize:], binary.LittleEndian, values) // cannot fail, because the lengths agree
	if i := slices.IndexFunc(values, func(v float32) bool { return !finite(v) }); i >= 0 {
		return fmt.Errorf("decoding a PCA basis: %w: value %d is %v", cpar.ErrCorrupt, i, values[i])
	}
	decoded := Basis{in: int(in), out: int(out), mean: values[:in:in], components: values[in:]}
	for k := range decoded.out {
		square := 0.0
		for _, v := range decoded.Component(k) {
			square += float64(v) * float64(v)
		}
		if square != 0 && math.Abs(square-1) > unitSlack {
			return fmt.Errorf("decoding a PCA basis: %w: component %d has squared length %g", cpar.ErrCorrupt, k, square)
		}
	}
	*b = decoded
	return nil
}

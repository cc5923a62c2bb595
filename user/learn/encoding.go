package learn

import (
	"encoding/binary"
	"fmt"
	"math"

	"cpar"
	"cpar/user/pca"
)

// The encoding of a projection, words little-endian:
//
//	 0  magic "cpar.lrn" (8 bytes)
//	 8  version uint32 = 1
//	12  blocks uint32, 1 to 64
//	16  landmarks m uint32, 0 to 2048
//	20  dimensions d uint32, 1 to 512
//	24  width float64, 0 without landmarks
//	32  per block: length uint32; bytes of the basis uint32, 0 for one left out;
//	    and if not, scale float32 and the basis (package pca)
//	 …  landmarks, m × p × float32, p the components of all blocks
//	 …  mean, q × float32, q being m, or p without landmarks
//	 …  directions, q × d × float32
//
// There is one encoding of a projection and nothing may follow it.
const (
	magic      = "cpar.lrn"
	version    = 1
	headerSize = 32
	// mostFloat bounds every value of a decoded projection, so that none it
	// gives overflows.
	mostFloat = 1e30
)

// AppendBinary appends the encoding of p to data.
func (p *Projection) AppendBinary(data []byte) ([]byte, error) {
	data = append(data, magic...)
	for _, n := range []int{version, len(p.blocks), p.landmarks.rows, p.direction.cols} {
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	data = binary.LittleEndian.AppendUint64(data, math.Float64bits(p.width))
	for i, b := range p.blocks {
		data = binary.LittleEndian.AppendUint32(data, uint32(b.length))
		if b.basis == nil {
			data = binary.LittleEndian.AppendUint32(data, 0)
			continue
		}
		basis, err := b.basis.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("encoding block %d: %w", i, err)
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(len(basis)))
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(b.scale))
		data = append(data, basis...)
	}
	for _, values := range [][]float32{p.landmarks.data, p.mean, p.direction.data} {
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}
	return data, nil
}

// MarshalBinary is AppendBinary to a new slice.
func (p *Projection) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary decodes data, which it does not keep. Bytes that may have been
// forged need to be authenticated; here they are made sure to give finite vectors
// and to take no more memory than a few times their length. On an error p is
// unchanged.
func (p *Projection) UnmarshalBinary(data []byte) error {
	corrupt := func(format string, args ...any) error {
		return fmt.Errorf("decoding a projection: %w: %s", cpar.ErrCorrupt, fmt.Sprintf(format, args...))
	}
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return corrupt("no such header")
	}
	field := func(i int) uint32 { return binary.LittleEndian.Uint32(data[len(magic)+4*i:]) }
	if v := field(0); v != version {
		return fmt.Errorf("decoding a projection: %w: %d", cpar.ErrVersion, v)
	}
	blocks, landmarks, dim := field(1), field(2), field(3)
	var out Projection
	out.width = math.Float64frombits(binary.LittleEndian.Uint64(data[24:]))
	if blocks < 1 || blocks > MaxBlocks || landmarks > MaxLandmarks || dim < 1 || dim > MaxDim {
		return corrupt("%d blocks, %d landmarks, %d dimensions", blocks, landmarks, dim)
	}
	if landmarks == 0 && math.Float64bits(out.width) != 0 || landmarks > 0 && !(out.width > 0 && out.width <= mostFloat) {
		return corrupt("width %v of %d landmarks", out.width, landmarks)
	}
	rest, components := data[headerSize:], 0
	for i := range blocks {
		if len(rest) < 8 {
			return corrupt("cut short")
		}
		b := block{length: int(binary.LittleEndian.Uint32(rest))}
		size := binary.LittleEndian.Uint32(rest[4:])
		if rest = rest[8:]; b.length < 1 || b.length > pca.MaxIn {
			return corrupt("block %d of %d values", i, b.length)
		}
		if size > 0 {
			if uint64(len(rest)) < 4+uint64(size) {
				return corrupt("cut short")
			}
			b.scale, b.basis = math.Float32frombits(binary.LittleEndian.Uint32(rest)), new(pca.Basis)
			if !(b.scale > 0 && b.scale <= mostFloat) {
				return corrupt("block %d has scale %v", i, b.scale)
			}
			if err := b.basis.UnmarshalBinary(rest[4 : 4+size]); err != nil {
				return fmt.Errorf("decoding a projection: block %d: %w", i, err)
			}
			if rest = rest[4+size:]; b.basis.In() != b.length || b.basis.Out() > MaxComponents {
				return corrupt("block %d of %d values has a basis of %d to %d", i, b.length, b.basis.In(), b.basis.Out())
			}
			components += b.basis.Out()
		}
		out.blocks = append(out.blocks, b)
	}
	q := int(landmarks)
	if landmarks == 0 {
		q = components
	}
	if components == 0 || len(rest) != 4*(int(landmarks)*components+q+q*int(dim)) {
		return corrupt("%d bytes for %d components, %d landmarks and %d dimensions", len(rest), components, landmarks, dim)
	}
	values := make([]float32, len(rest)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(rest[4*i:]))
		if !(math.Abs(float64(values[i])) <= mostFloat) {
			return corrupt("value %d is %v", i, values[i])
		}
	}
	cut := func(rows, cols int) matrix32 {
		m := matrix32{rows: rows, cols: cols, data: values[: rows*cols : rows*cols]}
		values = values[rows*cols:]
		return m
	}
	if landmarks > 0 {
		out.landmarks = cut(int(landmarks), components)
	}
	out.mean = cut(1, q).data
	out.direction = cut(q, int(dim))
	*p = out
	return nil
}

package learn

import (
	"encoding/binary"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/wire"
	"cpar/model/pca"
)

// The encoding of a projection in little-endian order:
//
//	 0  magic "cpar.lrn" (8 bytes)
//	 8  version uint32 = 3
//	12  blocks uint32, 1 to 64
//	16  landmarks m uint32, 0 to 2048
//	20  dimensions d uint32, 1 to 512
//	24  per block: length uint32, components c uint32, 0 if skipped. Unless
//	    skipped: scale float32, width float32 (0 without landmarks), weight
//	    float32 (1 without landmarks), mean, length × float32, and the
//	    components, c × length
//	 …  landmarks, m × p, where p is the number of components of all blocks
//	 …  mean, q × float32, where q is m, or p without landmarks
//	 …  directions, d × q
//	 …  the keyword regression: words uint32, 0 to 512, then the length uint32
//	    and bytes of each word, all different. These are zero-padded to a
//	    multiple of 65,536 bytes. Then the mean, 512 × float32, and the rows,
//	    512 × q, where rows without a word are 0
//
// A matrix is one float32 scale per row, then the int16 values of all rows. A
// value stands for scale·value. Every projection has exactly one encoding,
// without trailing bytes.
const (
	magic   = "cpar.lrn"
	version = 3
	// maxFloat bounds every decoded value, so that no result overflows.
	maxFloat = 1e30
)

func appendFloats(data []byte, values []float32) []byte {
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// AppendBinary appends the encoding of p to data. The error is always nil.
func (p *Projection) AppendBinary(data []byte) ([]byte, error) {
	data = append(data, magic...)
	for _, n := range []int{version, len(p.blocks), p.landmarks.rows, p.direction.rows} {
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	for _, b := range p.blocks {
		data = binary.LittleEndian.AppendUint32(data, uint32(b.length))
		data = binary.LittleEndian.AppendUint32(data, uint32(b.basis.rows))
		if b.basis.rows > 0 {
			data = appendFloats(data, []float32{b.scale, b.width, b.weight})
			data = b.basis.append(appendFloats(data, b.mean))
		}
	}
	data = p.landmarks.append(data)
	return p.guess.append(p.direction.append(appendFloats(data, p.mean))), nil
}

func (p *Projection) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary decodes data without keeping it, using no more memory than
// len(data). All decoded vectors are finite. The caller must authenticate data
// from an untrusted source first. On error p is unchanged. Errors wrap
// cpar.ErrCorrupt or cpar.ErrVersion.
func (p *Projection) UnmarshalBinary(data []byte) error {
	out, err := decode(data)
	if err != nil {
		return fmt.Errorf("decoding a projection: %w", err)
	}
	*p = *out
	return nil
}

func decode(data []byte) (*Projection, error) {
	r := reader{wire.NewReader(data, cpar.ErrCorrupt)}
	if err := r.header(magic, version); err != nil {
		return nil, err
	}
	blocks, landmarks, dim := r.U32("blocks"), r.U32("landmarks"), r.U32("dimensions")
	if blocks < 1 || blocks > MaxBlocks || landmarks > MaxLandmarks || dim < 1 || dim > MaxDim {
		r.Fail("%d blocks, %d landmarks, %d dimensions", blocks, landmarks, dim)
	}
	out, components := new(Projection), 0
	for i := uint32(0); i < blocks && r.Err() == nil; i++ {
		b := block{length: int(r.U32("length of a block"))}
		rank := r.U32("components of a block")
		if b.length < 1 || b.length > pca.MaxIn || rank > MaxComponents {
			r.Fail("block %d of %d values and %d components", i, b.length, rank)
		} else if rank > 0 {
			of := r.floats(3)
			if b.mean, b.basis = r.floats(b.length), r.matrix(int(rank), b.length); r.Err() != nil {
				break
			}
			b.scale, b.width, b.weight = of[0], of[1], of[2]
			if !(b.scale > 0) || !(b.width >= 0) || math.Signbit(float64(b.width)) || !(b.weight >= 1.0/maxWeight && b.weight <= maxWeight) || landmarks == 0 && (b.width != 0 || b.weight != 1) {
				r.Fail("block %d has scale %v, width %v and weight %v", i, b.scale, b.width, b.weight)
			}
			components += int(rank)
		}
		out.blocks = append(out.blocks, b)
	}
	if components == 0 {
		r.Fail("no components")
	}
	q := components
	if landmarks > 0 {
		q = int(landmarks)
		out.landmarks = r.matrix(q, components)
	}
	out.mean = r.floats(q)
	out.direction = r.matrix(int(dim), q)
	out.guess = r.guesser(q)
	return out, r.Close()
}

// reader consumes an encoding. After an error it returns zeros.
type reader struct{ *wire.Reader }

func (r reader) header(magic string, version uint32) error {
	if string(r.Bytes(len(magic), "header")) != magic {
		r.Fail("wrong header")
	}
	if v := r.U32("version"); r.Err() == nil && v != version {
		return fmt.Errorf("%w: %d", cpar.ErrVersion, v)
	}
	return r.Err()
}

func (r reader) floats(n int) []float32 {
	data := r.Bytes(4*n, "numbers")
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if !(math.Abs(float64(out[i])) <= maxFloat) {
			r.Fail("a value is %v", out[i])
		}
	}
	return out
}

func (r reader) matrix(rows, cols int) matrix16 {
	m := matrix16{rows: rows, cols: cols, scale: r.floats(rows)}
	data := r.Bytes(2*rows*cols, "matrix")
	m.data = make([]int16, len(data)/2)
	for i := range m.data {
		m.data[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return m
}

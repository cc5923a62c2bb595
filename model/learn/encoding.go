package learn

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"cpar"
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
	magic      = "cpar.lrn"
	version    = 3
	headerSize = 24
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
	corrupt := func(format string, args ...any) (*Projection, error) {
		return nil, fmt.Errorf("%w: %s", cpar.ErrCorrupt, fmt.Sprintf(format, args...))
	}
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return corrupt("wrong header")
	}
	r := reader{rest: data[len(magic):]}
	if v := r.word(); v != version {
		return nil, fmt.Errorf("%w: %d", cpar.ErrVersion, v)
	}
	blocks, landmarks, dim := r.word(), r.word(), r.word()
	if blocks < 1 || blocks > MaxBlocks || landmarks > MaxLandmarks || dim < 1 || dim > MaxDim {
		return corrupt("%d blocks, %d landmarks, %d dimensions", blocks, landmarks, dim)
	}
	out, components := new(Projection), 0
	for i := range blocks {
		b := block{length: int(r.word())}
		rank := r.word()
		if b.length < 1 || b.length > pca.MaxIn || rank > MaxComponents {
			return corrupt("block %d of %d values and %d components", i, b.length, rank)
		}
		if rank > 0 {
			of := r.floats(3)
			if b.mean, b.basis = r.floats(b.length), r.matrix(int(rank), b.length); r.err != nil {
				return nil, fmt.Errorf("block %d: %w", i, r.err)
			}
			b.scale, b.width, b.weight = of[0], of[1], of[2]
			if !(b.scale > 0) || !(b.width >= 0) || math.Signbit(float64(b.width)) || !(b.weight >= 1.0/maxWeight && b.weight <= maxWeight) || landmarks == 0 && (b.width != 0 || b.weight != 1) {
				return corrupt("block %d has scale %v, width %v and weight %v", i, b.scale, b.width, b.weight)
			}
			components += int(rank)
		}
		out.blocks = append(out.blocks, b)
	}
	if components == 0 {
		return corrupt("no components")
	}
	q := components
	if landmarks > 0 {
		q = int(landmarks)
	}
	out.landmarks = r.matrix(int(landmarks), components)
	if landmarks == 0 {
		out.landmarks = matrix16{}
	}
	out.mean = r.floats(q)
	out.direction = r.matrix(int(dim), q)
	out.guess = r.guesser(q)
	if r.err != nil {
		return nil, r.err
	}
	if len(r.rest) != 0 {
		return corrupt("%d bytes too many", len(r.rest))
	}
	return out, nil
}

// reader consumes an encoding. After an error it returns zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n > len(r.rest) {
		r.err = cmp.Or(r.err, fmt.Errorf("%w: cut short", cpar.ErrCorrupt))
		return nil
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) word() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) floats(n int) []float32 {
	data := r.take(4 * n)
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if !(math.Abs(float64(out[i])) <= maxFloat) {
			r.err = fmt.Errorf("%w: a value is %v", cpar.ErrCorrupt, out[i])
		}
	}
	return out
}

func (r *reader) matrix(rows, cols int) matrix16 {
	if r.err == nil && size16(rows, cols) > len(r.rest) {
		r.take(size16(rows, cols))
	}
	m := matrix16{rows: rows, cols: cols, scale: r.floats(rows)}
	data := r.take(2 * rows * cols)
	m.data = make([]int16, len(data)/2)
	for i := range m.data {
		m.data[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return m
}

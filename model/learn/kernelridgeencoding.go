package learn

import (
	"encoding/binary"
	"fmt"
	"math"

	"cpar"
	"cpar/internal/wire"
	"cpar/model/pca"
)

// The encoding of a KernelRidge in little-endian order:
//
//	 0  magic "cpar.krr" (8 bytes)
//	 8  version uint32 = 1
//	12  blocks uint32, 1 to 64
//	16  photos n uint32, 2 to 1500
//	20  per block: length uint32, weight float32, above 0
//	 …  mean, float32 for each of the values of a row
//	 …  rows of the photos, n × values
//	 …  the keyword regression as in a projection (encoding.go), 512 × n
//
// Every regression has exactly one encoding, without trailing bytes.
const (
	ridgeMagic   = "cpar.krr"
	ridgeVersion = 1
)

// AppendBinary appends the encoding of k to data. The error is always nil.
func (k *KernelRidge) AppendBinary(data []byte) ([]byte, error) {
	data = append(data, ridgeMagic...)
	for _, n := range []int{ridgeVersion, len(k.lengths), k.photos.rows} {
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	for i, n := range k.lengths {
		data = appendFloats(binary.LittleEndian.AppendUint32(data, uint32(n)), k.weights[i:i+1])
	}
	return k.guess.append(k.photos.append(appendFloats(data, k.mean))), nil
}

func (k *KernelRidge) MarshalBinary() ([]byte, error) { return k.AppendBinary(nil) }

// UnmarshalBinary decodes data without keeping it, like
// Projection.UnmarshalBinary.
func (k *KernelRidge) UnmarshalBinary(data []byte) error {
	out, err := decodeRidge(data)
	if err != nil {
		return fmt.Errorf("decoding a regression: %w", err)
	}
	*k = *out
	return nil
}

func decodeRidge(data []byte) (*KernelRidge, error) {
	r := reader{wire.NewReader(data, cpar.ErrCorrupt)}
	if err := r.header(ridgeMagic, ridgeVersion); err != nil {
		return nil, err
	}
	blocks, photos := r.U32("blocks"), r.U32("photos")
	if blocks < 1 || blocks > MaxBlocks || photos < 2 || photos > MaxRidgePhotos {
		r.Fail("%d blocks of %d photos", blocks, photos)
	}
	k, in := new(KernelRidge), 0
	for i := uint32(0); i < blocks && r.Err() == nil; i++ {
		length, weight := r.U32("length of a block"), math.Float32frombits(r.U32("weight of a block"))
		if length < 1 || length > pca.MaxIn || !(weight > 0 && weight <= 1) {
			r.Fail("block %d of %d values with weight %v", i, length, weight)
		}
		k.lengths, k.weights, in = append(k.lengths, int(length)), append(k.weights, weight), in+int(length)
	}
	k.mean = r.floats(in)
	k.photos = r.matrix(int(photos), in)
	k.guess = r.guesser(int(photos))
	return k, r.Close()
}

func (k *KernelRidge) In() int { return len(k.mean) }

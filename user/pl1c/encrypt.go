package pl1c

import (
	"fmt"

	"cpar"
	"cpar/user/ive"
)

// Plane is the hyperplane z[Coordinate] = Height in JL space. Its coordinate is one of
// the m̂ of that space: neither a field of the image's vector nor a bin of a histogram
// (package pklc has its own planes).
type Plane struct {
	Coordinate int
	Height     int16
}

// EncryptRecord encrypts a record's JL vector, type 1.
func (k *Key) EncryptRecord(z []int16, noise *ive.Noise) ([]uint64, error) {
	square, err := k.square(z)
	if err != nil {
		return nil, fmt.Errorf("encrypting a record: %w", err)
	}
	if noise == nil {
		return nil, fmt.Errorf("encrypting a record: no source of noise: %w", cpar.ErrInput)
	}
	v := make([]int64, 0, k.params.Dim+3)
	for _, x := range z {
		v = append(v, int64(x))
	}
	v = append(v, square-k.params.Offset, noise.Epsilon(), 1)
	c := make([]uint64, len(v))
	// The last slot meets r_s·Σz_s², where noise would drown the comparison.
	return c, k.records.EncryptRecord(c, v, noise, len(v)-1)
}

// EncryptPlane encrypts a hyperplane, type 2.
func (k *Key) EncryptPlane(h Plane, noise *ive.Noise) ([]uint64, error) {
	m, height := k.params.Dim, int64(h.Height)
	if h.Coordinate < 0 || h.Coordinate >= m {
		return nil, fmt.Errorf("encrypting a plane: coordinate %d of %d: %w", h.Coordinate, m, cpar.ErrInput)
	}
	if height*height > k.params.MaxSquare() {
		return nil, fmt.Errorf("encrypting a plane: height %d too far from 0: %w", h.Height, cpar.ErrInput)
	}
	if noise == nil {
		return nil, fmt.Errorf("encrypting a plane: no source of noise: %w", cpar.ErrInput)
	}
	v := make([]int64, 2*m+2)
	v[h.Coordinate] = -2 * height
	v[m+h.Coordinate] = 1
	v[2*m] = height*height - k.params.Offset
	v[2*m+1] = noise.Epsilon()
	c := make([]uint64, len(v))
	return c, k.plane.EncryptRecord(c, v, noise)
}

// Request encrypts the request's JL vector for both types. scale is r_s, drawn afresh by
// noise.Scale for every request; the owner keeps it to read distances.
func (k *Key) Request(z []int16, scale int64, noise *ive.Noise) (*Request, error) {
	square, err := k.square(z)
	if err != nil {
		return nil, fmt.Errorf("encrypting a request: %w", err)
	}
	if scale < 1<<ive.ScaleBits || scale > ive.MaxScale {
		return nil, fmt.Errorf("encrypting a request: scale %d outside [2^%d, 2^%d): %w",
			scale, ive.ScaleBits, ive.ScaleBits+1, cpar.ErrInput)
	}
	m := k.params.Dim
	one, two := make([]int64, m+3), make([]int64, 2*m+2)
	for i, x := range z {
		x := int64(x)
		one[i] = -2 * scale * x
		two[i] = scale * x
		two[m+i] = scale * x * x
	}
	one[m], one[m+1], one[m+2] = scale, -3, scale*square
	two[2*m], two[2*m+1] = scale, -3
	q := &Request{Record: make([]uint64, len(one)), Plane: make([]uint64, len(two))}
	if err := k.records.EncryptRequest(q.Record, one, noise); err != nil {
		return nil, fmt.Errorf("type 1: %w", err)
	}
	if err := k.plane.EncryptRequest(q.Plane, two, noise); err != nil {
		return nil, fmt.Errorf("type 2: %w", err)
	}
	return q, nil
}

// PlainRecord is the twin of Compare, without noise and with ε = 0.
func (p Params) PlainRecord(record, request []int16, scale int64) int64 {
	var square int64
	for i, x := range record {
		d := int64(x) - int64(request[i])
		square += d * d
	}
	return scale * (square - p.Offset)
}

// PlainPlane is the twin of ComparePlane, without noise and with ε = 0.
func (p Params) PlainPlane(h Plane, request []int16, scale int64) int64 {
	d := int64(request[h.Coordinate]) - int64(h.Height)
	return scale * (d*d - p.Offset)
}

// square returns Σz² and refuses it if comparisons could wrap.
func (k *Key) square(z []int16) (int64, error) {
	if len(z) != k.params.Dim {
		return 0, fmt.Errorf("%d coordinates, the key has %d: %w", len(z), k.params.Dim, cpar.ErrInput)
	}
	var s int64
	for i, x := range z {
		// Checked in the loop, so that it cannot overflow.
		s += int64(x) * int64(x)
		if s > k.params.MaxSquare() {
			return 0, fmt.Errorf("squared norm beyond %d at coordinate %d, comparisons could wrap: %w", k.params.MaxSquare(), i, cpar.ErrInput)
		}
	}
	return s, nil
}

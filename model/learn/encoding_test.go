package learn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
)

func TestEncoding(t *testing.T) {
	rows, keywords := collection(30, 1, 9)
	for _, landmarks := range []int{0, 4} {
		p := mustFit(t, rows, keywords, Options{Dim: 3, Ridge: 1, Blocks: both, Landmarks: landmarks})
		var back Projection
		if err := back.UnmarshalBinary(encoded(t, p)); err != nil {
			t.Fatal(err)
		}
		a, _ := p.ApplyAll(rows)
		b, err := back.ApplyAll(rows)
		if err != nil || back.landmarks.rows != landmarks || back.Dim() != 3 || back.In() != 16 {
			t.Fatal(back.landmarks.rows, back.Dim(), back.In(), err)
		}
		for i := range a {
			if !slices.Equal(a[i], b[i]) { // to the last bit: Fit has rounded
				t.Fatal("decoding gave another projection")
			}
		}
	}
}

func TestDecodingRefuses(t *testing.T) {
	linear, kernel := examples(t)
	changed := func(data []byte, offset int, word uint32) []byte {
		data = bytes.Clone(data)
		binary.LittleEndian.PutUint32(data[offset:], word)
		return data
	}
	nan := math.Float32bits(float32(math.NaN()))
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing": {nil, cpar.ErrCorrupt}, "a header": {linear[:24], cpar.ErrCorrupt},
		"a byte over": {append(bytes.Clone(linear), 0), cpar.ErrCorrupt},
		"version":     {changed(linear, 8, 1), cpar.ErrVersion}, "no blocks": {changed(linear, 12, 0), cpar.ErrCorrupt},
		"many blocks": {changed(linear, 12, 65), cpar.ErrCorrupt}, "landmarks": {changed(linear, 16, 5), cpar.ErrCorrupt},
		"huge landmarks": {changed(kernel, 16, math.MaxUint32), cpar.ErrCorrupt}, "no dim": {changed(linear, 20, 0), cpar.ErrCorrupt},
		"a block's length": {changed(linear, 24, 0), cpar.ErrCorrupt}, "another": {changed(kernel, 24, 7), cpar.ErrCorrupt},
		"a long block": {changed(kernel, 24, 1<<16), cpar.ErrCorrupt}, "huge components": {changed(kernel, 28, math.MaxUint32), cpar.ErrCorrupt},
		"many components": {changed(kernel, 28, MaxComponents), cpar.ErrCorrupt}, "scale": {changed(kernel, 32, nan), cpar.ErrCorrupt},
		"width NaN": {changed(kernel, 36, nan), cpar.ErrCorrupt}, "width below 0": {changed(kernel, 36, 1<<31), cpar.ErrCorrupt},
		"a width": {changed(linear, 44, math.Float32bits(1)), cpar.ErrCorrupt}, // of the second block, because the first is skipped
		"a mean":  {changed(kernel, 40, nan), cpar.ErrCorrupt},
	} {
		p := Projection{mean: []float32{77}}
		if err := p.UnmarshalBinary(c.data); !errors.Is(err, c.want) || p.mean[0] != 77 {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for _, data := range [][]byte{linear, kernel} {
		for n := 0; n < len(data); n += 1 + n/1000*97 { // every one at first
			if err := new(Projection).UnmarshalBinary(data[:n]); err == nil {
				t.Fatalf("%d of %d bytes were taken", n, len(data))
			}
		}
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	linear, kernel := examples(f)
	f.Add(linear)
	f.Add(kernel)
	f.Add([]byte("cpar.lrn\x03\x00\x00\x00\x40\x00\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Projection
		if p.UnmarshalBinary(data) != nil {
			return
		}
		if !bytes.Equal(encoded(t, &p), data) {
			t.Error("encoding again gives other bytes")
		}
		out, err := p.Apply(make([]float32, p.In()))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range out {
			if v-v != 0 {
				t.Error("a decoded projection gives", v)
			}
		}
	})
}

func examples(t testing.TB) (linear, kernel []byte) {
	rows, keywords := collection(30, 1, 9)
	return encoded(t, mustFit(t, rows, keywords, Options{Dim: 2, Ridge: 1, Blocks: both, Skip: []bool{true, false}})),
		encoded(t, mustFit(t, rows, keywords, Options{Dim: 3, Ridge: 1, Blocks: both, Landmarks: 4}))
}

func TestMatrix16(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	m := matrix(5, 23)
	for i := range m.Data {
		m.Data[i] = rng.NormFloat64() * math.Pow(10, float64(i/23)-2)
	}
	clear(m.Data[2*23 : 3*23])
	r := round16(m)
	back := r.dense()
	x := make([]float64, 23)
	for j := range x {
		x[j] = rng.NormFloat64()
	}
	got := r.times(x)
	for i := range m.Rows {
		row, largest, want := m.Data[i*23:(i+1)*23], 0.0, 0.0
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
		for j, v := range row {
			if math.Abs(v-back.Data[i*23+j]) > 0.5001*largest/math.MaxInt16 {
				t.Fatalf("%g became %g", v, back.Data[i*23+j])
			}
			want += back.Data[i*23+j] * x[j]
		}
		if math.Abs(got[i]-want) > 1e-12*largest*23 {
			t.Errorf("row %d: %g, want %g", i, got[i], want)
		}
	}
}

// The largest projection of each grid must keep an index of 20,000 photos,
// (8·(dim+3)+92) bytes each and 0.3 MB of overhead, within 25 MB.
func TestEncodingsAreSmallEnough(t *testing.T) {
	size := func(blocks []int, landmarks, dim int) int {
		total, p := 24, 0
		for _, length := range blocks {
			c := min(blockComponents, length)
			total += 20 + 4*length + size16(c, length)
			p += c
		}
		return total + size16(landmarks, p) + 4*landmarks + size16(dim, landmarks) +
			paddedNames + 4*maxWords + size16(maxWords, landmarks)
	}
	rows, keywords := collection(60, 1, 14)
	p := mustFit(t, rows, keywords, Options{Dim: 3, Ridge: 1, Blocks: both, Landmarks: 20})
	if got := len(encoded(t, p)); got != size(both, 20, 3) {
		t.Fatalf("%d bytes, reckoned %d", got, size(both, 20, 3))
	}
	for _, space := range []Grid{FeatureGrid(), EmbeddingGrid(4000, true)} {
		space = space.filled(20000)
		for _, dim := range space.Dims {
			for _, landmarks := range space.Landmarks {
				if landmarks == 0 {
					continue
				}
				if total := 20000*(8*(dim+3)+92) + size(space.Base.Blocks, landmarks, dim) + 300_000; total > 25_000_000 || dim > 128 {
					t.Errorf("blocks %v, %d landmarks, %d dimensions: %d bytes", space.Base.Blocks, landmarks, dim, total)
				}
			}
		}
	}
}

func size16(rows, cols int) int { return 4*rows + 2*rows*cols }

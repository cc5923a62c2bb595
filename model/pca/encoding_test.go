package pca

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"cpar"
)

func encoded(t testing.TB, b *Basis) []byte {
	t.Helper()
	data, err := b.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEncoding(t *testing.T) {
	b := mustFit(t, sloped(6, 10, 0.8, 1), 7, 1)
	data := encoded(t, b)
	var back Basis
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if back.In() != 10 || back.Out() != 7 || back.Rank() != 5 ||
		!slices.Equal(back.mean, b.mean) || !slices.Equal(back.components, b.components) {
		t.Error("decoding gave another basis")
	}
	appended, _ := b.AppendBinary([]byte("before"))
	if !bytes.Equal(appended, append([]byte("before"), data...)) {
		t.Error("AppendBinary does not append")
	}
}

func TestEncodingBytes(t *testing.T) {
	b := &Basis{in: 2, out: 1, mean: []float32{0.5, -2}, components: []float32{1, 0}}
	want := "cpar.pca\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00" +
		"\x00\x00\x00\x3f\x00\x00\x00\xc0\x00\x00\x80\x3f\x00\x00\x00\x00"
	if got := encoded(t, b); string(got) != want {
		t.Errorf("got %q", got)
	}
}

func TestDecodingRefuses(t *testing.T) {
	good := encoded(t, mustFit(t, sloped(6, 10, 0.8, 1), 3, 1))
	changed := func(offset int, word uint32) []byte {
		data := bytes.Clone(good)
		binary.LittleEndian.PutUint32(data[offset:], word)
		return data
	}
	wide := encoded(t, &Basis{in: 1, out: 2, mean: []float32{0}, components: []float32{1, 0}})
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing": {nil, cpar.ErrCorrupt}, "a header alone": {good[:headerSize], cpar.ErrCorrupt},
		"a byte short": {good[:len(good)-1], cpar.ErrCorrupt}, "a byte over": {append(bytes.Clone(good), 0), cpar.ErrCorrupt},
		"magic": {changed(0, 0), cpar.ErrCorrupt}, "version": {changed(8, 2), cpar.ErrVersion},
		"in": {changed(12, 1<<31), cpar.ErrCorrupt}, "no out": {changed(16, 0), cpar.ErrCorrupt},
		"out above in": {wide, cpar.ErrCorrupt}, "other out": {changed(16, 4), cpar.ErrCorrupt},
		"NaN":      {changed(headerSize, math.Float32bits(float32(math.NaN()))), cpar.ErrCorrupt},
		"infinite": {changed(len(good)-4, math.Float32bits(float32(math.Inf(1)))), cpar.ErrCorrupt},
		"too long": {changed(len(good)-4, math.Float32bits(3)), cpar.ErrCorrupt},
	} {
		b := Basis{in: 77}
		if err := b.UnmarshalBinary(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if b.in != 77 {
			t.Errorf("%s: changed the basis", name)
		}
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	f.Add(encoded(f, mustFit(f, sloped(6, 10, 0.8, 1), 7, 1)))
	f.Add(encoded(f, &Basis{in: 2, out: 1, mean: []float32{0.5, -2}, components: []float32{0, 1}}))
	f.Add([]byte("cpar.pca\x01\x00\x00\x00\xff\xff\x00\x00\xff\xff\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b Basis
		if b.UnmarshalBinary(data) != nil {
			return
		}
		if !bytes.Equal(encoded(t, &b), data) {
			t.Error("encoding again gives other bytes")
		}
		for _, v := range b.Project(make([]float32, b.In())) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Error("a decoded basis projects to", v)
			}
		}
	})
}

package feature

import (
	"bytes"
	"testing"
)

// TestRGB: however a picture is stored, it is the same upright.
func TestRGB(t *testing.T) {
	upright := synthetic(31, 20)
	var want []byte
	for i, v := range upright.Pix {
		if i%4 != 3 {
			want = append(want, v)
		}
	}
	for o := range 9 {
		p, err := Decode(encodePNG(t, stored(upright, o)))
		if err != nil {
			t.Fatal(err)
		}
		p.turn = orientation(o)
		rgb, w, h := p.RGB()
		if w != 31 || h != 20 || !bytes.Equal(rgb, want) {
			t.Errorf("orientation %d: %d×%d, %d bytes, or another picture", o, w, h, len(rgb))
		}
	}
}

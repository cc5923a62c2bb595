package envelope

import (
	"bytes"
	"testing"

	"cpar/internal/seed"
)

func TestPadding(t *testing.T) {
	for n := 1; n < 1<<22; n = n*9/8 + 1 {
		if p := padded(n); p < n || p%4096 != 0 || n > 64<<10 && float64(p) > 1.12*float64(n) {
			t.Errorf("%d bytes are padded to %d", n, p)
		}
	}
}

func TestOpenRejectsAnotherBindingKindAndByte(t *testing.T) {
	c := New(seed.Secret{1}, "test")
	for _, n := range []int{0, 1, 4072, 4073, 100_000} {
		b := bytes.Repeat([]byte{7}, n)
		sealed := c.Seal(b, "here")
		if got, err := c.Open(sealed, "here"); err != nil || !bytes.Equal(got, b) || len(sealed) != Size(n) {
			t.Errorf("%d bytes: %d came back, %v; the envelope has %d bytes, want %d", n, len(got), err, len(sealed), Size(n))
		}
		if _, err := c.Open(sealed, "there"); err == nil {
			t.Error("an envelope opens under another binding")
		}
		if _, err := New(seed.Secret{1}, "other").Open(sealed, "here"); err == nil {
			t.Error("an envelope opens as another kind")
		}
		sealed[len(sealed)/2]++
		if _, err := c.Open(sealed, "here"); err == nil {
			t.Error("an altered envelope opens")
		}
	}
}

package aead

import (
	"bytes"
	"testing"

	"cpar/internal/seed"
)

func TestOpenIsTheInverseOfSeal(t *testing.T) {
	b, nonces, here := New(seed.Secret{1}), seed.New(seed.Secret{2}), []byte("here")
	head := []byte("head")
	first, second := b.Seal(head, nonces, []byte("message"), here), b.Seal(head, nonces, []byte("message"), here)
	if bytes.Equal(first, second) || !bytes.HasPrefix(first, head) || len(first) != len(head)+len("message")+Overhead {
		t.Fatalf("two messages are %x and %x", first, second)
	}
	first = first[len(head):]
	if plain, err := b.Open(first, here); err != nil || string(plain) != "message" {
		t.Fatalf("%q, %v", plain, err)
	}
	if _, err := b.Open(first, []byte("elsewhere")); err == nil {
		t.Error("it opens elsewhere")
	}
	if _, err := New(seed.Secret{3}).Open(first, here); err == nil {
		t.Error("of another key")
	}
	for i := range first {
		bad := bytes.Clone(first)
		bad[i] ^= 1
		if _, err := b.Open(bad, here); err == nil {
			t.Errorf("it opens with byte %d altered", i)
		}
		if _, err := b.Open(first[:i], here); err == nil {
			t.Errorf("%d bytes of it open", i)
		}
	}
}

package sealed

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"cpar"
)

func TestDecryptIsTheInverseOfEncrypt(t *testing.T) {
	p := balanced(t, paperLike(200, 64))
	k := testKey(t, p)
	for _, n := range []int{1, p.Records() - 1, p.Records()} {
		c := randomCollection(rand.New(rand.NewPCG(1, uint64(n))), p, n)
		g, err := k.Encrypt(c.vectors, c.addends, fresh())
		if err != nil {
			t.Fatal(err)
		}
		vectors, addends, err := k.Decrypt(g)
		if err != nil || !reflect.DeepEqual(vectors, c.vectors) || !reflect.DeepEqual(addends, c.addends) {
			t.Errorf("%d records: not the encrypted ones, %v", n, err)
		}
		other, err := NewKey(testSecret(8), p, testID)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := other.Decrypt(g); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("with another key: %v", err)
		}
		g.Index[0]++
		if _, _, err := k.Decrypt(g); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("a group of another index: %v", err)
		}
	}
}

func BenchmarkDecrypt(b *testing.B) {
	p := balanced(b, paperLike(1408, 128))
	k := testKey(b, p)
	c := randomCollection(rand.New(rand.NewPCG(1, 1)), p, p.Records())
	g, err := k.Encrypt(c.vectors, c.addends, fresh())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := k.Decrypt(g); err != nil {
			b.Fatal(err)
		}
	}
}

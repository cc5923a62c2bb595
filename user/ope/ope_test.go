package ope

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"cpar"
)

func secret(b byte) (s [32]byte) {
	for i := range s {
		s[i] = b + byte(i)
	}
	return s
}

func mustKey(t testing.TB, b byte, beta int) *Key {
	t.Helper()
	k, err := NewKey(secret(b), beta)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestOrderIsPreservedStrictly(t *testing.T) {
	k := mustKey(t, 1, 999)
	for _, field := range []int{0, 1, 863} {
		last := int64(-1)
		for level := range 1000 {
			c, err := k.Encrypt(field, level)
			if err != nil {
				t.Fatal(err)
			}
			if int64(c) <= last || c >= 1<<RangeBits {
				t.Fatalf("field %d, level %d: %d after %d", field, level, c, last)
			}
			last = int64(c)
			if back, err := k.Decrypt(field, c); err != nil || back != level {
				t.Fatalf("level %d decrypts to %d, %v", level, back, err)
			}
		}
	}
}

// A uniform random subset has E[x_(i)] = (i+1)·2⁴⁰/1001 and known deviations,
// which the means over many fields must match.
func TestFunctionsAreRandomSubsets(t *testing.T) {
	k := mustKey(t, 2, 999)
	const fields = 400
	for _, level := range []int{0, 250, 500, 999} {
		mean := 0.0
		for f := range fields {
			c, err := k.Encrypt(f, level)
			if err != nil {
				t.Fatal(err)
			}
			mean += float64(c) / (1 << RangeBits) / fields
		}
		p := float64(level+1) / 1001
		deviation := math.Sqrt(p * (1 - p) / 1002 / fields)
		if math.Abs(mean-p) > 5*deviation {
			t.Errorf("level %d: mean %.5f, want %.5f ± %.5f", level, mean, p, deviation)
		}
	}
}

func TestDependsOnKeyAndFieldAndIsPinned(t *testing.T) {
	get := func(b byte, field int) uint64 {
		c, err := mustKey(t, b, 999).Encrypt(field, 500)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one := get(1, 0)
	if one == get(1, 1) || one == get(2, 0) || one != get(1, 0) {
		t.Error("a ciphertext must depend on key and field, and on nothing else")
	}
	const pinned = 0x7db6eab6ec
	if c := get(1, 7); c != pinned {
		t.Errorf("ciphertext %#x, want %#x", c, pinned)
	}
	c := get(1, 0)
	if _, err := mustKey(t, 3, 999).Decrypt(0, c); !errors.Is(err, cpar.ErrKey) {
		t.Errorf("another key decrypts: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	k := mustKey(t, 1, 99)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for f := range 50 {
				if _, err := k.Encrypt((f+g)%50, 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestRefusals(t *testing.T) {
	for _, beta := range []int{-1, maxBeta + 1} {
		if _, err := NewKey(secret(1), beta); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("β = %d: %v", beta, err)
		}
	}
	k := mustKey(t, 1, 10)
	for _, c := range [][2]int{{-1, 0}, {0, -1}, {0, 11}} {
		if _, err := k.Encrypt(c[0], c[1]); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := k.Decrypt(-1, 0); !errors.Is(err, cpar.ErrInput) {
		t.Error(err)
	}
	if _, err := k.Encrypt(0, 5); err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%+v %#v %x", k, k, k); s != "cpar key (redacted) cpar key (redacted) cpar key (redacted)" {
		t.Error(s)
	}
}

func BenchmarkNewField(b *testing.B) {
	k := mustKey(b, 1, 999)
	f := 0
	for b.Loop() {
		f++
		if f%1000 == 0 {
			clear(k.fields)
		}
		_, _ = k.Encrypt(f, 500)
	}
}

func BenchmarkEncrypt(b *testing.B) {
	k := mustKey(b, 1, 999)
	for b.Loop() {
		_, _ = k.Encrypt(7, 500)
	}
}

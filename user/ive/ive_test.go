package ive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func secret(b byte) (s [32]byte) {
	for i := range s {
		s[i] = b + byte(7*i)
	}
	return s
}

func mustKey(t testing.TB, b byte, p Params) *Key {
	t.Helper()
	k, err := NewKey(secret(b), p)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func vector(r *rand.Rand, m int, bound int64) []int64 {
	v := make([]int64, m)
	for i := range v {
		v[i] = r.Int64N(2*bound+1) - bound
	}
	return v
}

func dot(a, b []int64) (s int64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func norm1(v []int64) (s float64) {
	for _, x := range v {
		s += float64(max(x, -x))
	}
	return s
}

func TestScoresAreExactWhenTheBoundSaysSo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := NewNoise(secret(1))
	exact, rough := 0, 0
	for round := range 300 {
		m := 1 + r.IntN(40)
		p := Params{Dim: m, RecordShift: 4 + r.UintN(22), RequestShift: 4 + r.UintN(22)}
		k := mustKey(t, byte(round), p)
		v, s := vector(r, m, 1<<r.UintN(10)), vector(r, m, 1<<r.UintN(10))
		c, q := make([]uint64, m), make([]uint64, m)
		if err := errors.Join(k.EncryptRecord(c, v, noise), k.EncryptRequest(q, s, noise)); err != nil {
			t.Fatal(err)
		}
		bound := p.WorstNoise(norm1(v), norm1(s))
		if p.Fits(float64(max(dot(v, s), -dot(v, s))), bound) != nil {
			continue
		}
		got, want := p.Score(c, q), dot(v, s)
		if off := float64(max(got-want, want-got)); off > bound+0.5 {
			t.Fatalf("%+v: score %d, want %d within %.2f", p, got, want, bound)
		}
		if bound < 0.5 {
			exact++
			if got != want {
				t.Fatalf("%+v: score %d, want exactly %d (noise at most %.3f)", p, got, want, bound)
			}
		} else if got != want {
			rough++
		}
	}
	if exact < 50 || rough < 20 {
		t.Errorf("%d exact and %d disturbed scores: the test does not see both sides", exact, rough)
	}
}

// With every |e| = 19 in the worst direction, the error equals WorstNoise, so
// the bound is tight.
func TestWorstNoiseIsAttained(t *testing.T) {
	p := Params{Dim: 9, RecordShift: 10, RequestShift: 12}
	r := rand.New(rand.NewPCG(3, 4))
	v, s := vector(r, 9, 5000), vector(r, 9, 5000)
	for i := range s {
		if s[i] == 0 || v[i] == 0 {
			t.Fatal("the vectors must have no zero")
		}
		if s[i] < 0 != (v[i] < 0) {
			s[i] = -s[i]
		}
	}
	var total int64
	for i := range v {
		e := int64(NoiseBound)
		if v[i] < 0 {
			e = -e
		}
		total += (v[i]<<p.RecordShift+e)*(s[i]<<p.RequestShift+e) - v[i]*s[i]<<(p.RecordShift+p.RequestShift)
	}
	got := float64(total) / float64(uint64(1)<<(p.RecordShift+p.RequestShift))
	if want := p.WorstNoise(norm1(v), norm1(s)); got < 0.999999*want || got > 1.000001*want {
		t.Errorf("worst noise %.6f, the bound says %.6f", got, want)
	}
}

func TestWrapEdges(t *testing.T) {
	// 2^(20+20)·score: the maximum is 2²³ - 1, the minimum -2²³.
	p := Params{Dim: 2, RecordShift: 20, RequestShift: 20}
	k := mustKey(t, 3, p)
	for _, c := range []struct {
		score int64
		right bool
	}{
		{1<<23 - 2, true}, {1<<23 - 1, true}, {-1<<23 + 1, true}, {-1 << 23, true},
		{1 << 23, false}, {-1<<23 - 1, false}, {1 << 24, false},
	} {
		a, b := make([]uint64, 2), make([]uint64, 2)
		quietRecord := k.EncryptRecord(a, []int64{c.score, 0}, InsecureNoNoise(secret(1)))
		quietRequest := k.EncryptRequest(b, []int64{1, 5}, InsecureNoNoise(secret(2)))
		if err := errors.Join(quietRecord, quietRequest); err != nil {
			t.Fatal(err)
		}
		if got := p.Score(a, b); (got == c.score) != c.right {
			t.Errorf("score %d came back as %d", c.score, got)
		}
		if fits := p.Fits(float64(max(c.score, -c.score)), 0) == nil; fits != c.right && c.score != -1<<23 {
			t.Errorf("Fits(%d) = %v", c.score, fits)
		}
	}
}

func TestOnlyTheRightKeyScores(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	p := Params{Dim: 30, RecordShift: 20, RequestShift: 20}
	k, other := mustKey(t, 1, p), mustKey(t, 2, p)
	v, s := vector(r, 30, 100), vector(r, 30, 100)
	c, q := make([]uint64, 30), make([]uint64, 30)
	n := NewNoise(secret(9))
	if err := errors.Join(k.EncryptRecord(c, v, n), other.EncryptRequest(q, s, n)); err != nil {
		t.Fatal(err)
	}
	if got := p.Score(c, q); got == dot(v, s) {
		t.Error("a request under another key scored right")
	}
}

func TestBatchEqualsSingles(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	p := Params{Dim: 37, RecordShift: 14, RequestShift: 14}
	k := mustKey(t, 4, p)
	for _, n := range []int{0, 1, 2, 7, 8, 9, 16, 29} {
		v := vector(r, n*p.Dim, 1000)
		single, batch := NewNoise(secret(5)), NewNoise(secret(5))
		single.Epsilon()
		batch.Epsilon()
		want, got := make([]uint64, n*p.Dim), make([]uint64, n*p.Dim)
		for i := range n {
			row := func(x []uint64) []uint64 { return x[i*p.Dim : (i+1)*p.Dim] }
			if err := k.EncryptRecord(row(want), v[i*p.Dim:(i+1)*p.Dim], single, 3, 36); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.EncryptRecords(got, v, batch, 3, 36); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d records: batch and singles differ", n)
		}
		if single.Scale() != batch.Scale() {
			t.Errorf("%d records: the noise stands elsewhere after a batch", n)
		}
	}
}

func TestQuietSlotsHaveNoNoise(t *testing.T) {
	p := Params{Dim: 20, RecordShift: 0, RequestShift: 0}
	k := mustKey(t, 6, p)
	noise := NewNoise(secret(7))
	loud := make([]bool, p.Dim)
	for range 20 {
		c, back := make([]uint64, p.Dim), make([]int64, p.Dim)
		if err := k.EncryptRecord(c, make([]int64, p.Dim), noise, 0, 19); err != nil {
			t.Fatal(err)
		}
		if err := k.DecryptRecord(back, c); err != nil { // shift 0 returns e
			t.Fatal(err)
		}
		if back[0] != 0 || back[19] != 0 {
			t.Fatalf("noise in quiet slots: %v", back)
		}
		for i, e := range back {
			loud[i] = loud[i] || e != 0
		}
	}
	if slices.Contains(loud[1:19], false) {
		t.Error("a slot that should have noise never had any")
	}
}

func TestDecryptRecord(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	p := Params{Dim: 50, RecordShift: 6, RequestShift: 6} // w = 64 > 2·19
	k := mustKey(t, 8, p)
	v := vector(r, p.Dim, 1<<50)
	c, back := make([]uint64, p.Dim), make([]int64, p.Dim)
	if err := errors.Join(k.EncryptRecord(c, v, NewNoise(secret(1))), k.DecryptRecord(back, c)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(v, back) {
		t.Error("decryption does not give the record back")
	}
}

// The derivation of keys and ciphertexts is part of the format.
func TestKeyAndCiphertextsArePinned(t *testing.T) {
	p := Params{Dim: 67, RecordShift: 14, RequestShift: 13}
	k := mustKey(t, 11, p)
	v := make([]int64, 67)
	for i := range v {
		v[i] = int64(i*i) - 1000
	}
	c, q, n := make([]uint64, 67), make([]uint64, 67), NewNoise(secret(12))
	if err := errors.Join(k.EncryptRecord(c, v, n, 66), k.EncryptRequest(q, v, n)); err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, append(c, q...))
	const pinned = "f612bbecce510217524722104095bd3e0cdb5593fc26ba98c5a5db34877fb97b"
	if got := hex.EncodeToString(h.Sum(nil)); got != pinned {
		t.Errorf("ciphertexts hash to %s, want %s", got, pinned)
	}
}

func TestRefusals(t *testing.T) {
	for _, p := range []Params{{Dim: 0}, {Dim: -1}, {Dim: 1 << 20}, {Dim: 5, RecordShift: 32, RequestShift: 31},
		{Dim: 5, RecordShift: ^uint(0), RequestShift: 2}} {
		if _, err := NewKey(secret(1), p); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	p := Params{Dim: 5, RecordShift: 14, RequestShift: 14}
	k, n := mustKey(t, 1, p), NewNoise(secret(1))
	five := make([]uint64, 5)
	for name, err := range map[string]error{
		"short record":     k.EncryptRecord(five, make([]int64, 4), n),
		"short ciphertext": k.EncryptRequest(five[:4], make([]int64, 5), n),
		"no noise":         k.EncryptRecord(five, make([]int64, 5), nil),
		"no noise, batch":  k.EncryptRecords(five, make([]int64, 5), nil),
		"slot 5":           k.EncryptRecord(five, make([]int64, 5), n, 5),
		"slot -1":          k.EncryptRequest(five, make([]int64, 5), n, -1),
		"half a record":    k.EncryptRecords(make([]uint64, 7), make([]int64, 7), n),
		"batch lengths":    k.EncryptRecords(make([]uint64, 5), make([]int64, 10), n),
		"decrypt":          k.DecryptRecord(make([]int64, 4), five),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysPrintRedacted(t *testing.T) {
	k, n := mustKey(t, 1, Params{Dim: 3}), NewNoise(secret(1))
	for _, v := range []any{k, *k, n, *n, InsecureNoNoise(secret(1))} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			if s := fmt.Sprintf(verb, v); s != "cpar key (redacted)" {
				t.Errorf("%T prints as %s", v, s)
			}
		}
	}
	if s := fmt.Sprint(struct{ K *Key }{k}); !strings.Contains(s, "redacted") {
		t.Errorf("inside a struct: %s", s)
	}
}

package ive

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"
)

var modulus = new(big.Int).Lsh(big.NewInt(1), 64)

// matrix is a dense m×m matrix modulo 2⁶⁴.
type matrix [][]*big.Int

func zero(m int) matrix {
	a := make(matrix, m)
	for i := range a {
		a[i] = make([]*big.Int, m)
		for j := range a[i] {
			a[i][j] = new(big.Int)
		}
	}
	return a
}

func (a matrix) times(b matrix) matrix {
	c := zero(len(a))
	for i := range a {
		for j := range a {
			for k := range a {
				c[i][j].Add(c[i][j], new(big.Int).Mul(a[i][k], b[k][j]))
			}
			c[i][j].Mod(c[i][j], modulus)
		}
	}
	return c
}

func (a matrix) transposed() matrix {
	b := zero(len(a))
	for i := range a {
		for j := range a {
			b[j][i] = a[i][j]
		}
	}
	return b
}

func (a matrix) apply(x []*big.Int) []*big.Int {
	y := make([]*big.Int, len(a))
	for i := range a {
		y[i] = new(big.Int)
		for j := range a {
			y[i].Add(y[i], new(big.Int).Mul(a[i][j], x[j]))
		}
		y[i].Mod(y[i], modulus)
	}
	return y
}

// inverse uses Gauss–Jordan elimination with any odd pivot.
func (a matrix) inverse(t *testing.T) matrix {
	m := len(a)
	left, right := zero(m), zero(m)
	for i := range a {
		for j := range a {
			left[i][j].Set(a[i][j])
		}
		right[i][i].SetInt64(1)
	}
	for c := range m {
		p := c
		for p < m && left[p][c].Bit(0) == 0 {
			p++
		}
		if p == m {
			t.Fatal("the matrix is singular")
		}
		left[c], left[p] = left[p], left[c]
		right[c], right[p] = right[p], right[c]
		inv := new(big.Int).ModInverse(left[c][c], modulus)
		for j := range m {
			left[c][j].Mod(left[c][j].Mul(left[c][j], inv), modulus)
			right[c][j].Mod(right[c][j].Mul(right[c][j], inv), modulus)
		}
		for i := range m {
			if f := new(big.Int).Set(left[i][c]); i != c && f.Sign() != 0 {
				for j := range m {
					left[i][j].Mod(left[i][j].Sub(left[i][j], new(big.Int).Mul(f, left[c][j])), modulus)
					right[i][j].Mod(right[i][j].Sub(right[i][j], new(big.Int).Mul(f, right[c][j])), modulus)
				}
			}
		}
	}
	return right
}

// dense multiplies out S⁻¹ = P₁·L·D·U·P₂.
func dense(k *Key) matrix {
	m := k.params.Dim
	p1, l, d, u, p2 := zero(m), zero(m), zero(m), zero(m), zero(m)
	for i := range m {
		p1[i][k.left[i]].SetInt64(1)
		p2[i][k.right[i]].SetInt64(1)
		d[i][i].SetUint64(k.diag[i])
		l[i][i].SetInt64(1)
		u[i][i].SetInt64(1)
		for j, x := range k.lowerRow(i) {
			l[i][j].SetUint64(x)
		}
		for j, x := range k.upperRow(i) {
			u[i][i+1+j].SetUint64(x)
		}
	}
	return p1.times(l).times(d).times(u).times(p2)
}

func bigs(x []uint64) []*big.Int {
	b := make([]*big.Int, len(x))
	for i := range x {
		b[i] = new(big.Int).SetUint64(x[i])
	}
	return b
}

func same(got []uint64, want []*big.Int) bool {
	for i := range got {
		if want[i].Cmp(new(big.Int).SetUint64(got[i])) != 0 {
			return false
		}
	}
	return len(got) == len(want)
}

func TestAgainstDenseBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for m := 1; m <= 14; m++ {
		k := mustKey(t, byte(m), Params{Dim: m, RecordShift: 14, RequestShift: 14})
		inverse := dense(k)
		s := inverse.inverse(t)
		x := make([]uint64, m)
		for i := range x {
			x[i] = r.Uint64()
		}
		y := make([]uint64, m)
		if k.applyInverse(y, x); !same(y, inverse.apply(bigs(x))) {
			t.Errorf("m = %d: S⁻¹x differs", m)
		}
		if k.apply(y, x); !same(y, s.apply(bigs(x))) {
			t.Errorf("m = %d: Sx differs", m)
		}
		if k.applyTranspose(y, x); !same(y, s.transposed().apply(bigs(x))) {
			t.Errorf("m = %d: Sᵀx differs", m)
		}
	}
}

func TestCiphertextsAgainstTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := Params{Dim: 11, RecordShift: 14, RequestShift: 9}
	k := mustKey(t, 5, p)
	inverse := dense(k)
	transpose := inverse.inverse(t).transposed()
	v := vector(r, p.Dim, 1<<40)
	c, q := make([]uint64, p.Dim), make([]uint64, p.Dim)
	noise, again := NewNoise(secret(1)), NewNoise(secret(1))
	if err := errors.Join(k.EncryptRecord(c, v, noise), k.EncryptRequest(q, v, noise)); err != nil {
		t.Fatal(err)
	}
	plain := func(shift uint) []*big.Int {
		x := make([]*big.Int, p.Dim)
		for i := range x {
			x[i] = new(big.Int).Lsh(big.NewInt(v[i]), shift)
			x[i].Add(x[i], big.NewInt(again.stream.Gaussian()))
		}
		return x
	}
	if !same(c, inverse.apply(plain(14))) {
		t.Error("a record is not S⁻¹(w·V + e)")
	}
	if !same(q, transpose.apply(plain(9))) {
		t.Error("a request is not Sᵀ(w·V + e)")
	}
}

package letter

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cpar"
)

func normals(r *rand.Rand, m int, spread float64) []float64 {
	v := make([]float64, m)
	for i := range v {
		v[i] = spread * r.NormFloat64()
	}
	return v
}

func TestKeyInverse(t *testing.T) {
	for _, m := range []int{1, 2, 5, 63, 64, 65, 130} {
		k := NewKey(m, [32]byte{byte(m)}, nil)
		product := k.S.times(k.Inverse, nil)
		for i := range m {
			for j, x := range product.row(i) {
				if (i == j) != (x == 1) || x > 1 {
					t.Fatalf("m = %d: element %d, %d of S·S⁻¹ is %d", m, i, j, x)
				}
			}
		}
	}
}

func TestTimesEqualsDefinition(t *testing.T) {
	for _, m := range []int{1, 3, 66} {
		a, b := NewKey(m, [32]byte{1}, nil).S, NewKey(m, [32]byte{2}, nil).S
		count := new(Dots)
		got := a.times(b, count)
		for i := range m {
			for j := range m {
				want := uint64(0)
				for k := range m {
					want += a.row(i)[k] * b.row(k)[j]
				}
				if got.row(i)[j] != want {
					t.Fatalf("m = %d: element %d, %d", m, i, j)
				}
			}
		}
		if count.N() != int64(m*m) || count.Words() != int64(m*m*m) {
			t.Errorf("m = %d: %d DOT, %d products counted", m, count.N(), count.Words())
		}
	}
}

// Decryption and Eq. 2 return the plaintexts and cost what the paper states.
func TestInnerEqualsPlainProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, m := range []int{1, 2, 5, 64, 130} {
		count := new(Dots)
		k, own := NewKey(m, [32]byte{1}, count), NewKey(m, [32]byte{2}, count)
		a, b := normals(r, m, 10), normals(r, m, 10)
		ca, err1 := k.Encrypt(a)
		cb, err2 := own.Encrypt(b)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if count.N() != int64(2*m) {
			t.Errorf("m = %d: two encryptions cost %d DOT", m, count.N())
		}
		inner := new(Dots)
		if got, want := Inner(k.Evaluation(own), ca, cb, inner), dot(a, b); math.Abs(got-want) > 1e-3 {
			t.Errorf("m = %d: inner product %g, want %g", m, got, want)
		}
		if inner.N() != int64(m+1) {
			t.Errorf("m = %d: an inner product costs %d DOT", m, inner.N())
		}
		for i, x := range k.Decrypt(ca) {
			if math.Abs(float64(x)-a[i]) > 0.5+MaxE/W {
				t.Errorf("m = %d: element %d decrypts to %d, was %g", m, i, x, a[i])
			}
		}
	}
}

// TestRequestFolds: SᵀS_s·C(V_s) = Sᵀ(wV_s + e_s) word for word. The product
// sends it instead of the two factors.
func TestRequestFolds(t *testing.T) {
	const m = 24
	k, own := NewKey(m, [32]byte{1}, nil), NewKey(m, [32]byte{2}, nil)
	c, err := own.Encrypt(normals(rand.New(rand.NewPCG(1, 2)), m, 10))
	if err != nil {
		t.Fatal(err)
	}
	plain := own.S.apply(c, nil) // wV_s + e_s
	if !slices.Equal(k.Evaluation(own).apply(c, nil), k.S.transpose().apply(plain, nil)) {
		t.Error("the folded request differs")
	}
}

func TestRefusals(t *testing.T) {
	k := NewKey(3, [32]byte{1}, nil)
	l1, kl := NewPL1C(3, [32]byte{1}, nil), NewPKLC(3, [32]byte{1}, nil)
	_, short := k.Encrypt([]float64{1})
	_, large := k.Encrypt([]float64{0, math.Ldexp(1, 40), 0})
	_, nan := k.Encrypt([]float64{0, math.NaN(), 0})
	_, vector := l1.Vector(make([]float64, 2), 0)
	_, plane := l1.Plane(make([]float64, 3), 3, 0)
	_, request := l1.Request(make([]float64, 3), 0)
	_, bins := kl.Vector(make([]float64, 4), 0)
	_, bin := kl.Plane(make([]float64, 3), 3, 0)
	_, scaled := kl.Request(make([]float64, 3), -1)
	_, _, none := Setup(t.Context(), nil, Options{}, nil)
	for i, err := range []error{short, large, nan, vector, plane, request, bins, bin, scaled, none} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

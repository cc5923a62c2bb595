package scorevector

import (
	"errors"
	"math/rand/v2"
	"testing"

	"cpar"
	"cpar/internal/modq"
	"cpar/user/ive"
)

func mustPlanes(t *testing.T, centres []int, beta int) *PlaneBudget {
	t.Helper()
	p, err := NewPlanes(centres, beta)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// With every |e| = 19 in the worst direction, scores are exact at the admitted
// limit but not beyond it.
func TestPlaneScoresAreExactAtTheEdge(t *testing.T) {
	const fields = 864
	for _, c := range []struct {
		sum   int64
		exact bool
	}{{19669, true}, {19670, false}, {6858, true}, {9855, true}} {
		levels, centres := make([]int, fields), make([]int, fields)
		rest := c.sum
		for i := range levels {
			d := int(min(rest, 999))
			rest -= int64(d)
			if levels[i] = d; i%2 == 1 { // both signs
				levels[i], centres[i] = 0, d
			}
		}
		p := mustPlanes(t, centres, 999)
		if p.Limit() != 19669 {
			t.Errorf("limit %d", p.Limit())
		}
		y := make([]int64, p.Dim())
		err := p.Request(y, levels, MaxPlaneScale)
		if (err == nil) != c.exact {
			t.Fatalf("a sum of %d: %v", c.sum, err)
		}
		if err != nil { // the rejected request
			for i := range levels {
				y[i] = MaxPlaneScale * int64(levels[i]-centres[i])
			}
			y[fields] = MaxPlaneScale
		}
		right := true
		for _, sign := range []int64{-1, 1} {
			// Field 4 has its centre at 0: the largest element, score 0. Field
			// 862 has levels of 0: the largest score.
			for _, f := range []int{4, 862} {
				x := make([]int64, p.Dim())
				if err := p.Plane(x, f, 999); err != nil {
					t.Fatal(err)
				}
				right = right && worstPlaneScore(x, y, sign) == p.Score(levels[f], 999, MaxPlaneScale)
			}
		}
		if right != c.exact {
			t.Errorf("levels %d from the centres: exact is %t, want %t", c.sum, right, c.exact)
		}
	}
}

func worstPlaneScore(x, y []int64, sign int64) int64 {
	push := func(toward int64) int64 {
		if toward < 0 {
			return -sign * ive.NoiseBound
		}
		return sign * ive.NoiseBound
	}
	var a, b []uint64
	for i := range x {
		a = append(a, uint64(x[i]<<PlaneRecordShift+push(y[i])))
		b = append(b, uint64(y[i]<<PlaneRequestShift+push(x[i])))
	}
	return modq.RoundShift(modq.Dot(a, b), PlaneRecordShift+PlaneRequestShift)
}

func TestEncryptedPlaneScoresAreExact(t *testing.T) {
	const fields = 60
	r := rand.New(rand.NewPCG(1, 2))
	level := func() int { return []int{0, 1, 499, 500, 998, 999, r.IntN(1000)}[r.IntN(7)] }
	centres := make([]int, fields)
	for i := range centres {
		centres[i] = level()
	}
	p := mustPlanes(t, centres, 999)
	key, err := ive.NewKey(secret(1), p.Cipher())
	if err != nil {
		t.Fatal(err)
	}
	noise := ive.NewNoise(secret(2))
	x, y := make([]int64, p.Dim()), make([]int64, p.Dim())
	c, q := make([]uint64, p.Dim()), make([]uint64, p.Dim())
	for range 200 {
		levels, rest := make([]int, fields), int(p.Limit())
		for i := range levels {
			levels[i] = level()
			d := max(levels[i]-centres[i], centres[i]-levels[i])
			if d > rest {
				levels[i], d = centres[i], 0
			}
			rest -= d
		}
		scale := p.Scale(noise)
		if err := errors.Join(p.Request(y, levels, scale), key.EncryptRequest(q, y, noise)); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			f, at := r.IntN(fields), level()
			if err := errors.Join(p.Plane(x, f, at), key.EncryptRecord(c, x, noise)); err != nil {
				t.Fatal(err)
			}
			if got, want := p.Cipher().Score(c, q), p.Score(levels[f], at, scale); got != want {
				t.Fatalf("field %d, level %d against %d: score %d, want %d", f, levels[f], at, got, want)
			}
		}
	}
}

func TestPlaneRefusals(t *testing.T) {
	for _, c := range []struct {
		centres []int
		beta    int
	}{{nil, 999}, {make([]int, 864), 0}, {make([]int, 864), 1029}, {make([]int, 864), 1 << 20}, {[]int{1000}, 999}, {[]int{-1}, 999}} {
		if _, err := NewPlanes(c.centres, c.beta); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%d fields of %d levels: %v", len(c.centres), c.beta, err)
		}
	}
	mustPlanes(t, make([]int, 864), 1028)
	p := mustPlanes(t, []int{1, 2, 3}, 999)
	dst, three := make([]int64, 4), []int{1, 2, 3}
	for name, err := range map[string]error{
		"field 3":        p.Plane(dst, 3, 5),
		"field -1":       p.Plane(dst, -1, 5),
		"level 1000":     p.Plane(dst, 0, 1000),
		"short":          p.Plane(dst[:3], 0, 5),
		"two levels":     p.Request(dst, three[:2], 200),
		"short request":  p.Request(dst[:2], three, 200),
		"level -1":       p.Request(dst, []int{-1, 2, 3}, 200),
		"scale too low":  p.Request(dst, three, 127),
		"scale too high": p.Request(dst, three, 256),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	noise := ive.NewNoise(secret(9))
	for range 500 {
		if s := p.Scale(noise); s < 128 || s > 255 {
			t.Fatalf("scale %d", s)
		}
	}
}

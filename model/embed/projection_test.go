package embed

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func TestStreamIsPinned(t *testing.T) {
	// Computed from the package comment with Python's hmac and openssl enc.
	p := mustNew(t, [32]byte{}, 3, 4, 130, make([]uint16, 3))
	bits := make([]byte, 2*p.rowBytes())
	p.steps(bits, 1, 2)
	const want = "9ff527bfcd57175fa98da262325e40585b980fe42d0f5d4dce53f7e502b56d2a7ebe86e6307cd684"
	if got := hex.EncodeToString(bits[:40]); got != want {
		t.Errorf("steps (1, 2) and (1, 3) begin %s, want %s", got, want)
	}
	one := make([]byte, p.rowBytes())
	p.steps(one, 1, 3)
	if !slices.Equal(one, bits[p.rowBytes():]) {
		t.Error("step (1, 3) depends on where reading starts")
	}
}

func TestStepsDifferByEverything(t *testing.T) {
	base := make([]uint16, 8)
	row := func(p *Projection, d, l int) string {
		bits := make([]byte, p.rowBytes())
		p.steps(bits, d, l)
		return string(bits[:16])
	}
	seen := map[string]string{}
	note := func(what, row string) {
		if before, ok := seen[row]; ok {
			t.Errorf("%s has the steps of %s", what, before)
		}
		seen[row] = what
	}
	for d := range 8 {
		for l := 1; l <= 9; l++ {
			note(fmt.Sprint("step ", d, l), row(mustNew(t, secret(1), 8, 9, 128, base), d, l))
		}
	}
	note("another secret", row(mustNew(t, secret(2), 8, 9, 128, base), 0, 1))
	note("another m", row(mustNew(t, secret(1), 7, 9, 128, base[:7]), 0, 1))
	note("another β", row(mustNew(t, secret(1), 8, 10, 128, base), 0, 1))
	note("another m̂", row(mustNew(t, secret(1), 8, 9, 127, base), 0, 1))
}

func TestDimension(t *testing.T) {
	for _, c := range []struct {
		m, beta      int
		alpha, gamma float64
		want         int
	}{
		{864, 999, 1, 100, 1296}, {864, 999, 2, 100, 2592}, {864, 999, 1, 1000, 864}, {864, 999, 0.5, 10, 1296},
		{864, 999, 1, 10, 2592}, {864, 999, 0, 100, 0}, {864, 999, 1, 1, 0}, {864, 999, 1, 0.5, 0}, {0, 999, 1, 100, 0},
		{864, 999, math.NaN(), 100, 0}, {864, 999, 1e300, 100, 0},
	} {
		if got := Dimension(c.m, c.beta, c.alpha, c.gamma); got != c.want {
			t.Errorf("Dimension(%d, %d, %g, %g) = %d, want %d", c.m, c.beta, c.alpha, c.gamma, got, c.want)
		}
	}
}

func TestBaselines(t *testing.T) {
	levels := [][]uint16{{1, 9, 0}, {5, 9, 3}, {2, 0, 1}, {3, 0, 2}}
	if got := mustBaselines(t, levels, 9); !slices.Equal(got, []uint16{2, 0, 1}) {
		t.Errorf("even: %v", got)
	}
	if got := mustBaselines(t, levels[:3], 9); !slices.Equal(got, []uint16{2, 9, 1}) {
		t.Errorf("odd: %v", got)
	}
	for name, err := range map[string]error{
		"nothing": func() error { _, err := Baselines(nil, 9); return err }(),
		"ragged":  func() error { _, err := Baselines([][]uint16{{1}, {1, 2}}, 9); return err }(),
		"above β": func() error { _, err := Baselines(levels, 8); return err }(),
		"β of 0":  func() error { _, err := Baselines([][]uint16{{0}}, 0); return err }(),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNewRejectsBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		m, beta, mhat int
		base          []uint16
	}{
		"no m": {0, 9, 8, nil}, "no β": {1, 0, 8, []uint16{0}}, "no m̂": {1, 9, 0, []uint16{0}},
		"large β": {1, 1 << 16, 8, []uint16{0}}, "few baselines": {2, 9, 8, []uint16{0}}, "high baseline": {1, 9, 8, []uint16{10}},
	} {
		if _, err := New(secret(1), c.m, c.beta, c.mhat, c.base); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := mustNew(t, secret(1), 864, 999, 64, make([]uint16, 864))
	far := slices.Repeat([]uint16{12}, 864) // 10,368 steps
	for name, x := range map[string][]uint16{"short": make([]uint16, 863), "above β": append(make([]uint16, 863), 1000), "far": far} {
		if _, err := p.Embed(x); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("Embed, %s: %v", name, err)
		}
		if _, err := p.EmbedAll([][]uint16{make([]uint16, 864), x}); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("EmbedAll, %s: %v", name, err)
		}
	}
	if z, err := p.EmbedAll(nil); err != nil || len(z) != 0 {
		t.Errorf("EmbedAll of nothing: %v, %v", z, err)
	}
}

func TestProjectionPrintsRedacted(t *testing.T) {
	p := mustNew(t, secret(7), 2, 9, 8, []uint16{4, 5})
	for _, v := range []any{p, *p, &p, struct{ P *Projection }{p}, []Projection{*p}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			printed := fmt.Sprintf(verb, v)
			for _, leak := range []string{"4 5", "0x4, 0x5", "baselines", "[4,5]"} {
				if strings.Contains(printed+string(text), leak) {
					t.Errorf("%s of %T: %s %s", verb, v, printed, text)
				}
			}
		}
	}
	if got := fmt.Sprintf("%x", *p); got != "embed projection (redacted)" {
		t.Errorf("prints %q", got)
	}
}

package f32

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cpar/internal/testing/instructions"
)

// TestInstructions prints the table of instructions in docs/networks.md.
func TestInstructions(t *testing.T) {
	counter := instructions.New(t)
	defer func(l level) { active = l }(active)
	r := rand.New(rand.NewPCG(17, 18))
	const n = 3136
	x, y, out, wide := random(r, n), random(r, n), make([]float32, n), make([]float64, n)
	calls := []struct {
		name string
		f    func() func() // prepares a call at the active level
	}{
		{"linear layer, 50×768 · 768×3072", func() func() {
			right := PackRight(random(r, 768*3072), 3072, 768, 3072, false)
			a, c, scratch := random(r, 50*768), make([]float32, 50*3072), make([]float32, right.Scratch(50))
			return func() { right.Mul(c, 3072, a, 768, 50, nil, scratch) }
		}},
		{"convolution, 64×576 · 576×3136", func() func() {
			left := PackLeft(random(r, 64*576), 576, 64, 576)
			b, c, scratch := random(r, 576*n), make([]float32, 64*n), make([]float32, LeftScratch(n, 576))
			return func() { left.Mul(c, n, b, n, n, scratch) }
		}},
		{"attention, 197×64 · 64×197", func() func() {
			a, b, c, scratch := random(r, 197*64), random(r, 197*64), make([]float32, 197*197), make([]float32, Scratch(197, 197, 64))
			return func() { Mul(c, 197, a, 64, b, 64, 197, 197, 64, true, scratch) }
		}},
		{"float64, 64×512 · 512×120", func() func() {
			a, b, c := make([]float64, 64*512), random(r, 512*120), make([]float64, 64*120)
			return func() { Mul64(c, 120, a, 512, b, 120, 64, 120, 512, false) }
		}},
		{"depthwise convolution, 9 taps", func() func() {
			image, w, offsets := random(r, n+200), random(r, 9), []int{0, 1, 2, 57, 58, 59, 114, 115, 116}
			return func() { Taps(out, image, offsets, w, 1, &Epilogue{Clip: true, Hi: 6}) }
		}},
		{"Dot", func() func() { return func() { Dot(x, y) } }},
		{"Axpy", func() func() { return func() { Axpy(0.5, x, y) } }},
		{"Line", func() func() { return func() { Line(out, x, 2, 1, 0, 6) } }},
		{"Times", func() func() { return func() { Times(out, x, y) } }},
		{"Larger (pools)", func() func() { return func() { Larger(out, x, y) } }},
		{"Largest (softmax)", func() func() { return func() { Largest(x) } }},
		{"AddTo64", func() func() { return func() { AddTo64(wide, x) } }},
		{"Centre", func() func() { return func() { Centre(out, x, wide, 0.5) } }},
		{"Exp (softmax)", func() func() { return func() { Exp(out, x) } }},
		{"Erf", func() func() { return func() { Erf(out, x) } }},
		{"Tanh", func() func() { return func() { Tanh(out, x) } }},
		{"Sigmoid", func() func() { return func() { Sigmoid(out, x) } }},
		{"Gelu", func() func() { return func() { Gelu(out, x) } }},
	}
	fmt.Printf("| call | instructions, %v | %v | ratio |\n|---|---|---|---|\n", plain, best())
	for _, c := range calls {
		active = plain
		before := counter.Count(c.f())
		active = best()
		after := counter.Count(c.f())
		fmt.Printf("| %s | %d | %d | %.1f |\n", c.name, before, after, float64(before)/float64(after))
	}
}

package scorevector

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkRecord(b *testing.B) {
	budget := mustBudget(b, Paper())
	p := photos(rand.New(rand.NewPCG(1, 1)), Paper(), 1)[0]
	dst := make([]int64, budget.Dim())
	for b.Loop() {
		_ = budget.Record(dst, p.z, p.v, 1)
	}
}

func BenchmarkRequest(b *testing.B) {
	budget := mustBudget(b, Paper())
	p := photos(rand.New(rand.NewPCG(1, 1)), Paper(), 1)[0]
	dst := make([]int64, budget.Dim())
	for b.Loop() {
		_ = budget.Request(dst, p.z, p.v, 1500, 0)
	}
}

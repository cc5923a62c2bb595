package ive

import (
	"math/rand/v2"
	"testing"
)

var pipeline = Params{Dim: 1347, RecordShift: DistanceShift, RequestShift: DistanceShift}

func BenchmarkNewKey(b *testing.B) {
	for b.Loop() {
		mustKey(b, 1, pipeline)
	}
}

func BenchmarkEncryptRecord(b *testing.B) {
	k, n := mustKey(b, 1, pipeline), NewNoise(secret(1))
	v, c := vector(rand.New(rand.NewPCG(1, 1)), pipeline.Dim, 100), make([]uint64, pipeline.Dim)
	for b.Loop() {
		_ = k.EncryptRecord(c, v, n)
	}
}

// One operation encrypts 64 records. Run with -cpu 1 for the cost per core.
func BenchmarkEncrypt64Records(b *testing.B) {
	k, n := mustKey(b, 1, pipeline), NewNoise(secret(1))
	v, c := vector(rand.New(rand.NewPCG(1, 1)), 64*pipeline.Dim, 100), make([]uint64, 64*pipeline.Dim)
	for b.Loop() {
		_ = k.EncryptRecords(c, v, n)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/64, "µs/record")
}

func BenchmarkEncryptRequest(b *testing.B) {
	k, n := mustKey(b, 1, pipeline), NewNoise(secret(1))
	v, t := vector(rand.New(rand.NewPCG(1, 1)), pipeline.Dim, 100), make([]uint64, pipeline.Dim)
	for b.Loop() {
		_ = k.EncryptRequest(t, v, n)
	}
}

func BenchmarkScore(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	c, t := make([]uint64, pipeline.Dim), make([]uint64, pipeline.Dim)
	for i := range c {
		c[i], t[i] = r.Uint64(), r.Uint64()
	}
	for b.Loop() {
		pipeline.Score(c, t)
	}
}

package ive

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"cpar"
	"cpar/internal/modq"
)

// EncryptRecord writes C = S⁻¹(w·v + e) into the m 64-bit words of dst, which
// must not overlap v. The noise e is 0 in the elements (slots) listed in
// `quiet`. Errors wrap cpar.ErrInput.
//
// A slot must be quiet if noise of up to 19 times the request's element would
// change the score too much. Such slots hold nothing that noise must protect.
func (k *Key) EncryptRecord(dst []uint64, v []int64, noise *Noise, quiet ...int) error {
	return k.encrypt("record", k.applyInverse, k.params.RecordShift, dst, v, noise, quiet)
}

// EncryptRequest writes t = Sᵀ(w_s·v + e_s) into the m words of dst.
func (k *Key) EncryptRequest(dst []uint64, v []int64, noise *Noise, quiet ...int) error {
	return k.encrypt("request", k.applyTranspose, k.params.RequestShift, dst, v, noise, quiet)
}

func (k *Key) encrypt(what string, apply func(dst, x []uint64), shift uint, dst []uint64, v []int64, noise *Noise, quiet []int) error {
	if len(v) != k.params.Dim || len(dst) != k.params.Dim {
		return fmt.Errorf("encrypting a %s: %d elements into %d words, the key has dimension %d: %w",
			what, len(v), len(dst), k.params.Dim, cpar.ErrInput)
	}
	silent, err := k.silent(noise, quiet)
	if err != nil {
		return fmt.Errorf("encrypting a %s: %w", what, err)
	}
	addNoise(dst, v, shift, noise, silent)
	apply(dst, dst)
	return nil
}

// EncryptRecords encrypts n records on all processors. Slices v and dst hold n
// rows of m elements. The result equals n calls of EncryptRecord in order with
// the same noise.
func (k *Key) EncryptRecords(dst []uint64, v []int64, noise *Noise, quiet ...int) error {
	m := k.params.Dim
	if len(v)%m != 0 || len(dst) != len(v) {
		return fmt.Errorf("encrypting records: %d elements into %d words, the key has dimension %d: %w",
			len(v), len(dst), m, cpar.ErrInput)
	}
	silent, err := k.silent(noise, quiet)
	if err != nil {
		return fmt.Errorf("encrypting records: %w", err)
	}
	n := len(v) / m
	size := batchSize(n, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min((n+size-1)/size, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			work := newBatch(m, size)
			for {
				first := int(next.Add(1)-1) * size
				if first >= n {
					return
				}
				// Every record's noise has its own position in the stream, so
				// the result does not depend on scheduling.
				source := noise.reader(first * m)
				last := min(first+size, n)
				rows := dst[first*m : last*m]
				for i := first; i < last; i++ {
					addNoise(dst[i*m:(i+1)*m], v[i*m:(i+1)*m], k.params.RecordShift, source, silent)
				}
				k.applyInverseBatch(rows, rows, work)
			}
		})
	}
	group.Wait()
	noise.advance(n * m)
	return nil
}

// DecryptRecord writes V = S·c / w, rounded. It is correct if |V| <
// 2^(63-RecordShift) and w > 2·19, so that the noise rounds away.
func (k *Key) DecryptRecord(dst []int64, c []uint64) error {
	if len(c) != k.params.Dim || len(dst) != k.params.Dim {
		return fmt.Errorf("decrypting a record: %d words into %d elements, the key has dimension %d: %w",
			len(c), len(dst), k.params.Dim, cpar.ErrInput)
	}
	x := make([]uint64, len(c))
	k.apply(x, c)
	for i := range dst {
		dst[i] = modq.RoundShift(x[i], k.params.RecordShift)
	}
	return nil
}

func (k *Key) silent(noise *Noise, quiet []int) ([]bool, error) {
	if noise == nil {
		return nil, fmt.Errorf("no source of noise: %w", cpar.ErrInput)
	}
	mark := make([]bool, k.params.Dim)
	for _, i := range quiet {
		if i < 0 || i >= len(mark) {
			return nil, fmt.Errorf("slot %d without noise, of %d slots: %w", i, len(mark), cpar.ErrInput)
		}
		mark[i] = true
	}
	return mark, nil
}

// addNoise writes 2^shift·v + e into dst. A silent slot also consumes a
// sample, so that other slots' samples do not depend on it.
func addNoise(dst []uint64, v []int64, shift uint, noise *Noise, silent []bool) {
	for i, x := range v {
		e := noise.sample()
		if silent[i] {
			e = 0
		}
		dst[i] = uint64(x)<<shift + e
	}
}

package engine

import (
	"errors"
	"fmt"
)

// A broadcast is numpy's: the common shape of several tensors and the steps for
// reading each, 0 where repeated.
type broadcast struct {
	shape []int
	steps [][]int // of each tensor
}

func newBroadcast(shapes ...[]int) (broadcast, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	b := broadcast{shape: make([]int, rank)}
	for k := range b.shape {
		b.shape[k] = 1
	}
	for _, s := range shapes {
		for i, n := range s {
			k := rank - len(s) + i
			if n != 1 && b.shape[k] != 1 && b.shape[k] != n {
				return b, fmt.Errorf("tensors of shapes %v do not fit", shapes)
			}
			if n != 1 {
				b.shape[k] = n
			}
		}
	}
	for _, s := range shapes {
		own, steps := rowMajor(s), make([]int, rank)
		for i, n := range s {
			if n != 1 {
				steps[rank-len(s)+i] = own[i]
			}
		}
		b.steps = append(b.steps, steps)
	}
	return b, nil
}

// merged returns the same broadcast with the fewest axes, at least one.
func (b broadcast) merged() broadcast {
	m := broadcast{steps: make([][]int, len(b.steps))}
	for k, n := range b.shape {
		last := len(m.shape) - 1
		joins := last >= 0
		for i := range b.steps {
			joins = joins && m.steps[i][last] == b.steps[i][k]*n
		}
		switch {
		case n == 1:
		case joins:
			m.shape[last] *= n
			for i := range b.steps {
				m.steps[i][last] = b.steps[i][k]
			}
		default:
			m.shape = append(m.shape, n)
			for i := range b.steps {
				m.steps[i] = append(m.steps[i], b.steps[i][k])
			}
		}
	}
	if len(m.shape) == 0 {
		m.shape = []int{1}
		for i := range m.steps {
			m.steps[i] = []int{0}
		}
	}
	return m
}

// rows calls f for each run along the last axis with its positions in the
// output and the inputs. b must be merged.
func (b broadcast) rows(f func(at int, from []int)) {
	last := len(b.shape) - 1
	var index [maxRank]int
	from := make([]int, len(b.steps))
	for at := 0; ; at += b.shape[last] {
		f(at, from)
		k := last - 1
		for ; k >= 0; k-- { // like an odometer
			index[k]++
			for i, steps := range b.steps {
				from[i] += steps[k]
			}
			if index[k] < b.shape[k] {
				break
			}
			for i, steps := range b.steps {
				from[i] -= steps[k] * b.shape[k]
			}
			index[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

func pairs[T any](b broadcast, out, x, y []T, f func(out, x, y []T, dx, dy int)) {
	last := len(b.shape) - 1
	n, dx, dy := b.shape[last], b.steps[0][last], b.steps[1][last]
	b.rows(func(at int, from []int) { f(out[at:][:n], x[from[0]:], y[from[1]:], dx, dy) })
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

var errNotFinite = errors.New("weights that are not finite numbers once they are folded")

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// finite reports whether all values are finite.
func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

//go:build linux

package instructions

import "testing"

func TestCount(t *testing.T) {
	c := New(t)
	loop := func(n int) func() {
		return func() {
			for range n {
				sink++
			}
		}
	}
	first, second, third := c.Count(loop(1000)), c.Count(loop(2000)), c.Count(loop(3000))
	if first < 1000 || third-second != second-first {
		t.Errorf("loops of 1,000, 2,000 and 3,000 rounds take %d, %d and %d instructions", first, second, third)
	}
}

var sink int

package kernelbench

import (
	"fmt"
	"testing"

	"cpar/internal/testing/instructions"
)

func TestInstructions(t *testing.T) {
	counter := instructions.New(t)
	for _, c := range Calls {
		c.AtEachLevel(func(kernels string, call func()) {
			fmt.Printf("%s\t%s\t%s\t%d\n", c.Package, c.Name, kernels, counter.Count(call))
		})
	}
}

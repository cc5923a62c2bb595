package encoder

import (
	"fmt"
	"testing"

	"cpar/internal/testing/instructions"
)

// TestInstructions prints a row of the table of instructions in
// docs/networks.md. Tag purego selects plain Go.
func TestInstructions(t *testing.T) {
	counter := instructions.New(t)
	model, image := bundledModel(t, ""), goldenImage()
	fmt.Printf("bundled network, one image: %d\n", counter.Count(func() {
		if _, err := model.Embed(image); err != nil {
			t.Fatal(err)
		}
	}))
}

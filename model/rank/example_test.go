package rank_test

import (
	"fmt"

	"cpar/model/rank"
)

// By the paper's weights, near neighbours count more.
func ExampleKeywords() {
	near := []rank.Neighbour{
		{Dis: 1, Keywords: []string{"beach", "sea"}},
		{Dis: 2, Keywords: []string{"beach"}},
		{Dis: 5, Keywords: []string{"street"}},
	}
	for _, k := range rank.Keywords(near, 3) {
		fmt.Printf("%s %.3f\n", k.Word, k.Weight)
	}
	// Output:
	// beach 1.625
	// sea 0.875
	// street 0.375
}

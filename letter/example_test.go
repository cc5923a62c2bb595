package letter_test

import (
	"context"
	"fmt"
	"log"

	"cpar/letter"
)

// The cloud compares two images, and a hyperplane with an image, by their
// distance from a third, using ciphertexts.
func ExamplePL1C() {
	user := letter.NewPL1C(3, [32]byte{1}, nil) // vectors of three elements, already approximated
	a, err := user.Vector([]float64{0.1, 0.5, 0.2}, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	b, err := user.Vector([]float64{0.9, 0.1, 0.4}, -0.02)
	if err != nil {
		log.Fatal(err)
	}
	plane, err := user.Plane([]float64{0.9, 0.1, 0.4}, 0, 0.02) // the hyperplane v_1 = 0.9
	if err != nil {
		log.Fatal(err)
	}
	request, err := user.Request([]float64{0.2, 0.4, 0.2}, 1500)
	if err != nil {
		log.Fatal(err)
	}
	request.SS, request.SSPlane = user.Evaluations()

	fmt.Println("a is nearer than b:", request.Type1(a, b) < 0)
	fmt.Println("the hyperplane is nearer than b:", request.Type2(plane, b) < 0)
	// Output:
	// a is nearer than b: true
	// the hyperplane is nearer than b: true
}

func ExamplePKLC() {
	user := letter.NewPKLC(3, [32]byte{1}, nil)
	a, err := user.Vector([]float64{0.2, 0.5, 0.3}, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	b, err := user.Vector([]float64{0.8, 0.1, 0.1}, -0.02)
	if err != nil {
		log.Fatal(err)
	}
	request, err := user.Request([]float64{0.3, 0.5, 0.2}, 1500)
	if err != nil {
		log.Fatal(err)
	}
	request.SS = user.Evaluation()

	fmt.Println("a is nearer than b:", request.Compare(a, b) < 0)
	// Output:
	// a is nearer than b: true
}

func ExampleSetup() {
	images := []letter.Image{
		{Levels: []uint16{500, 510, 700}, KL: []float64{0.7, 0.3}, Keywords: []string{"beach", "sea"}},
		{Levels: []uint16{505, 512, 690}, KL: []float64{0.6, 0.4}, Keywords: []string{"beach"}},
		{Levels: []uint16{800, 300, 400}, KL: []float64{0.1, 0.9}, Keywords: []string{"forest"}},
		{Levels: []uint16{790, 310, 420}, KL: []float64{0.2, 0.8}, Keywords: []string{"forest", "path"}},
	}
	user, cloud, err := letter.Setup(context.Background(), images, letter.Options{OneKey: true}, nil)
	if err != nil {
		log.Fatal(err)
	}
	request, memory, err := user.Request(letter.Image{Levels: []uint16{502, 515, 705}, KL: []float64{0.65, 0.35}})
	if err != nil {
		log.Fatal(err)
	}
	reply, err := cloud.Annotate(request, letter.Search{L: 2, AP: 1})
	if err != nil {
		log.Fatal(err)
	}
	words, err := user.Select(reply, memory)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(words[0].Keyword, len(reply.Images))
	// Output: beach 2
}

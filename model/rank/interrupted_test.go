package rank

import (
	"context"
	"fmt"
	"testing"

	"cpar/internal/parallel/interrupt"
)

// TestInterrupted: calibration stops between two choices of parameters and between two
// steps of the regression.
func TestInterrupted(t *testing.T) {
	var samples []Sample
	var collection [][]string
	for i := range 60 {
		words := []string{fmt.Sprint("word ", i%5), fmt.Sprint("word ", i%7)}
		collection = append(collection, words)
		s := Sample{Truth: words, Fold: i % 3}
		for j := range 20 {
			s.Near = append(s.Near, Neighbour{Dis: float64(j), Keywords: []string{fmt.Sprint("word ", (i+j)%5)}})
		}
		samples = append(samples, s)
	}
	choices := int64(len(neighbourChoices) * len(decayChoices) * len(exponentChoices))
	interrupt.Everywhere(t, choices, func(ctx context.Context) error {
		_, _, err := Calibrate(ctx, samples, collection, 3, 0)
		return err
	})
	interrupt.Everywhere(t, 3*choices, func(ctx context.Context) error {
		_, err := CrossValidate(ctx, samples, collection, KindCalibrated, 3)
		return err
	})
}

package measure

import (
	"context"

	"cpar/user"
)

// Names that the external tests need.
var EvenlySpaced = evenlySpaced

func (l *Lab) Augmented(ctx context.Context, c *Corpus, n int) ([]user.Photo, error) {
	return l.augmented(ctx, c, n)
}

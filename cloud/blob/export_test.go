package blob

import (
	"context"
	"io"
)

// GetFrom opens an object where a broken stream continues.
func (b *Bucket) GetFrom(ctx context.Context, name string, from int64) (io.ReadCloser, int64, error) {
	return b.GetRange(ctx, name, from, -1)
}

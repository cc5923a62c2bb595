package main

import (
	"context"
	"fmt"

	"cpar"
	"cpar/cparhttp"
	"cpar/user/album/blobs"
)

// cloudBlobs returns the blobs of an album at a cloud.
func cloudBlobs(*cparhttp.Client, cpar.IndexID) (blobs.Store, func(context.Context) (int, error)) {
	return nil, func(context.Context) (int, error) {
		return 0, fmt.Errorf("%w: this program has no client for albums yet", cpar.ErrVersion)
	}
}

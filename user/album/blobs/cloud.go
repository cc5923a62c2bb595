package blobs

import (
	"context"
	"errors"
	"fmt"

	"cpar"
	"cpar/cparhttp"
)

// A Cloud is the store of an album at a server.
type Cloud struct {
	Client *cparhttp.Client
	Album  cpar.IndexID
}

// Others returns the number of the owner's other albums at the server.
func (c Cloud) Others(ctx context.Context) (n int, err error) {
	all, err := c.Client.Albums(ctx)
	for _, a := range all {
		if a.Album != c.Album.String() {
			n++
		}
	}
	return n, err
}

// translate turns the client's errors about a blob into errors of this package.
func translate(name string, err error) error {
	switch {
	case errors.Is(err, cpar.ErrCorrupt): // replaced, because its hint is about indexes
		return Damage(name, "is damaged at the server")
	case errors.Is(err, cparhttp.ErrNotFound):
		return fmt.Errorf("%w: %w", cpar.ErrCloud, ErrNotFound)
	case errors.Is(err, cparhttp.ErrExists):
		return ErrExists
	case errors.Is(err, cparhttp.ErrChanged):
		return ErrChanged
	}
	return err
}

func blob(i cparhttp.BlobInfo) Blob {
	return Blob{Name: i.Name, Size: i.Bytes, Digest: i.SHA256, Modified: i.Modified}
}

func (c Cloud) Put(ctx context.Context, name string, b []byte) error {
	return translate(name, c.Client.PutBlob(ctx, c.Album.String(), name, b, nil))
}

func (c Cloud) Replace(ctx context.Context, name string, b []byte, old [32]byte) error {
	return translate(name, c.Client.PutBlob(ctx, c.Album.String(), name, b, (*cpar.Digest)(&old)))
}

func (c Cloud) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	b, err := c.Client.GetBlob(ctx, c.Album.String(), name, offset, length)
	return b, translate(name, err)
}

func (c Cloud) Stat(ctx context.Context, name string) (Blob, error) {
	i, err := c.Client.StatBlob(ctx, c.Album.String(), name)
	return blob(i), translate(name, err)
}

// maxBlobs bounds a listing, so that a hostile server cannot fill the memory. With
// packs of 20 MB, it allows albums of 80 TB.
const maxBlobs = 4 << 20

func (c Cloud) List(ctx context.Context, prefix string, yield func(Blob) error) error {
	listed := 0
	for after := ""; ; {
		page, next, err := c.Client.ListBlobs(ctx, c.Album.String(), prefix, after)
		for _, i := range page {
			if err == nil {
				err = yield(blob(i))
			}
		}
		if err != nil || next == "" {
			return translate(prefix+"*", err)
		}
		if listed += len(page); listed > maxBlobs {
			return fmt.Errorf("listing blobs: %w: the server lists more than %d blobs", cpar.ErrCloud, maxBlobs)
		}
		after = next
	}
}

func (c Cloud) Delete(ctx context.Context, name string) error {
	return translate(name, c.Client.DeleteBlob(ctx, c.Album.String(), name))
}

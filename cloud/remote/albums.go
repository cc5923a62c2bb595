package remote

import (
	"context"
	"errors"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"cpar"
	"cpar/cloud/album"
	"cpar/cloud/blob"
)

// albumsDir is the folder of all tenants' albums, beside the tenants' indexes,
// so that listing indexes does not list albums.
const albumsDir = "albums/"

func (s *Store) Albums() album.Objects { return albums{s} }

type albums struct{ *Store }

func albumObject(tenant, name string) string { return albumsDir + tenantFolder(tenant) + name }

// Put implements album.Objects. It writes the blob to the folder of the cache
// first, because a request to the storage begins with the digest and may be
// retried. The file counts towards the limit of the cache.
func (a albums) Put(ctx context.Context, tenant, name string, size int64, sum cpar.Digest, r io.Reader) error {
	f, err := a.cache.spool(min(size, step))
	if err != nil {
		return err
	}
	defer f.abort()
	if err := album.Receive(f, r, size, sum); err != nil {
		return err
	}
	return a.bucket.Put(ctx, albumObject(tenant, name), f.file, size, sum)
}

func (a albums) PutNew(ctx context.Context, tenant, name string, b []byte) error {
	if err := a.checkConditionalWrites(ctx); err != nil {
		return err
	}
	err := a.bucket.PutIfAbsent(ctx, albumObject(tenant, name), b)
	if errors.Is(err, blob.ErrExists) {
		return album.ErrTaken
	}
	return err
}

func (a albums) Get(ctx context.Context, tenant, name string, offset, length int64) (io.ReadCloser, error) {
	body, _, err := a.bucket.GetRange(ctx, albumObject(tenant, name), offset, length)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, album.ErrNotFound
	}
	return body, err
}

func (a albums) List(ctx context.Context, tenant, folder string) iter.Seq2[album.Object, error] {
	root := albumObject(tenant, "")
	return func(yield func(album.Object, error) bool) {
		for o, err := range a.bucket.List(ctx, root+folder) {
			if !yield(album.Object{Name: strings.TrimPrefix(o.Name, root), Bytes: o.Bytes, Modified: o.Modified}, err) {
				return
			}
		}
	}
}

func (a albums) Delete(ctx context.Context, tenant, name string) error {
	return a.bucket.Delete(ctx, albumObject(tenant, name))
}

// spool starts a temporary file outside of the cache's entries.
func (c *cache) spool(size int64) (*cacheFile, error) {
	f := &cacheFile{cache: c}
	if err := f.reserve(size); err != nil {
		return nil, err
	}
	return f, f.open(filepath.Join(c.dir, "spool"))
}

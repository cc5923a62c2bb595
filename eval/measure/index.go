package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/user"
)

// An Index is an encrypted index in a separate temporary folder.
type Index struct {
	// Folder may also hold files that do not belong to the index.
	Folder   string
	Key      *user.Key
	Files    *indexdir.Index
	Manifest *cpar.Manifest
	// EncryptTime is the duration of encryption. BuildTime also includes
	// user.Setup.
	EncryptTime, BuildTime time.Duration
}

// BuildIndex builds, encrypts and opens an index. It returns the builder
// separately, so that callers can release its vectors. The caller must close
// the index.
func BuildIndex(ctx context.Context, key *user.Key, images []user.Photo, opt user.Options) (*Index, *user.Builder, error) {
	folder, err := os.MkdirTemp("", "cpar-eval-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the index: %w: %w", cpar.ErrStorage, err)
	}
	x := &Index{Folder: folder, Key: key}
	begun := time.Now()
	b, err := user.Setup(ctx, key, images, opt)
	setup := time.Since(begun)
	if err == nil {
		_, err = b.Encrypt(ctx, x.Path())
		x.BuildTime = time.Since(begun)
		x.EncryptTime = x.BuildTime - setup
	}
	if err == nil {
		err = x.Reopen()
	}
	if err != nil {
		x.Close()
		return nil, nil, err
	}
	return x, b, nil
}

func (x *Index) Path() string { return filepath.Join(x.Folder, "index") }

// Reopen opens the current generation (version) of the index.
func (x *Index) Reopen() (err error) {
	if x.Files != nil {
		x.Files.Release()
		x.Files = nil
	}
	if x.Files, err = indexdir.Open(x.Path()); err == nil {
		x.Manifest = x.Files.Manifest()
	}
	return err
}

// Device opens the index as another device of the owner does.
func (x *Index) Device() (*user.Owner, error) {
	owner, err := user.Open(x.Key, x.Manifest, x.Files.Read)
	if err != nil {
		return nil, err
	}
	held := map[cpar.Digest][]byte{}
	for _, segment := range owner.Needs(x.Manifest) {
		mapped, err := x.Files.Read(segment)
		if err != nil {
			return nil, err
		}
		held[segment.Digest] = slices.Clone(mapped) // a copy, because a device would fetch the segment
	}
	return owner, owner.Hold(x.Manifest, held)
}

func (x *Index) Close() {
	if x.Files != nil {
		x.Files.Release()
	}
	os.RemoveAll(x.Folder)
}

// Each calls f for 0 to n−1 on all cores, until a call fails or ctx ends.
func Each(ctx context.Context, n int, f func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(i)
		})
	}
	return group.Wait()
}

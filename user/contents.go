package user

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cpar/internal/hint"
	"cpar/internal/parallel"
	"cpar/internal/sanitize"
	"cpar/model/feature"
	"cpar/photo/dataset"
	"cpar/photo/decode"
)

// A Memo stores values by kind and name. *localstore.Store implements it.
type Memo interface {
	Get(kind string, name []byte) (value []byte, ok bool)
	Put(kind string, name, value []byte) error
}

// ContentOptions control how ReadContents computes content digests.
type ContentOptions struct {
	// Strict stops at the first unreadable file.
	Strict bool
	// Memo caches content digests by path, size and modification time, so that
	// a large collection is not read every time. It may be nil. ReadOnly
	// prevents writes to it.
	Memo     Memo
	ReadOnly bool
	Progress Progress
}

// ReadContents computes the content digests of a collection's photos without
// decoding them. listed[i] is the photo of read[i], an item that could be read.
func ReadContents(ctx context.Context, items []dataset.Photo, opt ContentOptions) (listed []Photo, read []dataset.Photo, skipped []Skipped, err error) {
	contents, errs := make([][32]byte, len(items)), make([]error, len(items))
	var mu sync.Mutex
	done := 0
	parallel.Each(len(items), func() func(int) {
		return func(i int) {
			if ctx.Err() != nil {
				return
			}
			contents[i], errs[i] = opt.content(items[i].Path)
			mu.Lock()
			defer mu.Unlock()
			done++
			opt.Progress.Report("read", done, len(items))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	for i, it := range items {
		switch {
		case errs[i] == nil:
			listed, read = append(listed, Photo{Content: contents[i], Keywords: it.Keywords}), append(read, it)
		case opt.Strict:
			return nil, nil, nil, fmt.Errorf("reading %s: %w", sanitize.Text(it.Name), errs[i])
		default:
			skipped = append(skipped, Skipped{Name: it.Name, Reason: errs[i].Error()})
		}
	}
	return listed, read, skipped, nil
}

const contentKind = "content 1"

// settled is the minimum age of a file before its modification time identifies
// its content.
const settled = 2 * time.Second

func (opt ContentOptions) content(path string) (content [32]byte, err error) {
	name := opt.name(path)
	if name != nil {
		if b, ok := opt.Memo.Get(contentKind, name); ok && len(b) == len(content) {
			return [32]byte(b), nil
		}
	}
	data, err := decode.ReadFile(path)
	if err != nil {
		return content, err
	}
	content = decode.ContentDigest(data)
	if name != nil && !opt.ReadOnly {
		_ = opt.Memo.Put(contentKind, name, content[:]) // on failure the next run reads the file again
	}
	return content, nil
}

// name returns the memo's name for the current version of a file. It returns
// nil if the digest must not be cached.
func (opt ContentOptions) name(path string) []byte {
	if opt.Memo == nil {
		return nil
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil || time.Since(info.ModTime()) < settled {
		return nil
	}
	b := append([]byte(whole), 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(info.Size()))
	return binary.LittleEndian.AppendUint64(b, uint64(info.ModTime().UnixNano()))
}

// ReadFeatures extracts the features of photos. The result is nil for photos
// that cannot be used.
func ReadFeatures(ctx context.Context, items []dataset.Photo, opt ReadOptions) ([]*feature.Vectors, []Skipped, error) {
	photos, errs, err := extract(ctx, items, opt)
	if err != nil {
		return nil, nil, err
	}
	out := make([]*feature.Vectors, len(items))
	var skipped []Skipped
	for i, p := range photos {
		switch {
		case errs[i] == nil:
			out[i] = p.Vectors
		case opt.Strict:
			return nil, nil, unusable(items[i], errs[i])
		default:
			skipped = append(skipped, Skipped{Name: items[i].Name, Reason: errs[i].Error()})
		}
	}
	return out, skipped, nil
}

func unusable(it dataset.Photo, err error) error {
	return hint.Add(fmt.Errorf("reading %s: %w", sanitize.Text(it.Name), err), "without --strict such images are left out and counted")
}

func extract(ctx context.Context, items []dataset.Photo, opt ReadOptions) ([]Photo, []error, error) {
	how := feature.Options{
		Cache:    opt.Cache,
		Progress: func(done, total int) { opt.Progress.Report("features", done, total) },
	}
	if opt.Network != nil {
		how.Network = opt.Network
	}
	return feature.ExtractAll(ctx, len(items), func(i int) ([]byte, error) { return decode.ReadFile(items[i].Path) }, how)
}

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

type ContentOptions struct {
	// Strict stops at the first unreadable file.
	Strict bool
	// Memo, if not nil, caches content digests by path, size and modification time.
	Memo Memo
	// ReadOnly, if set, prevents writes to Memo.
	ReadOnly bool
	Progress Progress
}

// ReadContents computes content digests without decoding. Element listed[i]
// describes read[i], the i-th readable item.
func ReadContents(ctx context.Context, items []dataset.Photo, opt ContentOptions) (listed []Photo, read []dataset.Photo, skipped []Skipped, err error) {
	contents, errs := make([][32]byte, len(items)), make([]error, len(items))
	var mu sync.Mutex
	done := 0
	parallel.For(len(items), func(i int) {
		if ctx.Err() != nil {
			return
		}
		contents[i], errs[i] = opt.content(items[i].Path)
		mu.Lock()
		defer mu.Unlock()
		done++
		opt.Progress.Report("read", done, len(items))
	})
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	used, skipped, err := usable(items, errs, opt.Strict)
	for _, i := range used {
		listed, read = append(listed, Photo{Content: contents[i], Keywords: items[i].Keywords}), append(read, items[i])
	}
	return listed, read, skipped, err
}

// usable returns the positions of the usable items and the names of the
// others. If `strict` is set, it returns an error for the first unusable item.
func usable(items []dataset.Photo, errs []error, strict bool) (used []int, skipped []Skipped, err error) {
	for i, err := range errs {
		switch {
		case err == nil:
			used = append(used, i)
		case strict:
			return nil, nil, fmt.Errorf("reading %s: %w", sanitize.Text(items[i].Name), err)
		default:
			skipped = append(skipped, Skipped{Name: items[i].Name, Reason: err.Error()})
		}
	}
	return used, skipped, nil
}

const contentKind = "content 1"

// settled is the minimum age at which a modification time identifies a file's
// content, because clocks are coarse.
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
		_ = opt.Memo.Put(contentKind, name, content[:]) // if this fails, the next run reads the file again
	}
	return content, nil
}

// name returns the name in Memo of the current version of a file, or nil if the
// digest must not be cached.
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

// ReadFeatures extracts the features of photos. An unusable photo's features
// are nil.
func ReadFeatures(ctx context.Context, items []dataset.Photo, opt ReadOptions) ([]*feature.Vectors, []Skipped, error) {
	photos, _, skipped, err := extract(ctx, items, opt)
	if err != nil {
		return nil, nil, err
	}
	return Features(photos), skipped, nil
}

// extract extracts the features of photos and returns the positions of usable photos.
func extract(ctx context.Context, items []dataset.Photo, opt ReadOptions) (photos []Photo, used []int, skipped []Skipped, err error) {
	how := feature.Options{
		Cache:    opt.Cache,
		Spill:    opt.Spill,
		Progress: func(done, total int) { opt.Progress.Report("features", done, total) },
	}
	if opt.Network != nil {
		how.Network = opt.Network
	}
	cut := make([]bool, len(items))
	photos, errs, err := feature.ExtractAll(ctx, len(items), func(i int) ([]byte, error) {
		data, err := decode.ReadFile(items[i].Path)
		cut[i] = decode.Truncated(data)
		return data, err
	}, how)
	if err != nil {
		return nil, nil, nil, err
	}
	used, skipped, err = usable(items, errs, opt.Strict)
	for _, i := range used {
		if cut[i] && opt.Warnings != nil {
			*opt.Warnings = append(*opt.Warnings, dataset.Warning{Kind: dataset.CutShort, Name: items[i].Name})
		}
	}
	return photos, used, skipped, hint.Add(err, "without --strict such images are left out and counted")
}

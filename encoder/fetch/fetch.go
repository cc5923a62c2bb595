// Package fetch downloads one file whose SHA-256 is known: a network in ONNX
// format, or a text file that belongs to a network.
//
//	address, digest, bound ─▶ Get: GET, Range ─▶ FILE.part ─▶ digest ─▶ Check ─▶ FILE
//
// Transfers use HTTPS, also after redirects. Plain HTTP is allowed only on this
// machine. Received bytes go to FILE.part, which is renamed once the digest of
// the whole file matches. FILE is therefore never incomplete. An interrupted or
// stalled transfer leaves FILE.part, and the next call resumes it (RFC 9110,
// section 14). If FILE.part holds the start of another file, the digest does
// not match, and Get starts again.
//
// The server is untrusted. Files in other formats than ONNX are refused by name
// and by first bytes before anything is written, because PyTorch files contain
// programs (Python pickles).
package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
)

// StallTimeout is the longest time for which a transfer may receive almost
// nothing (minRate).
const StallTimeout = 30 * time.Second

type Options struct {
	Address  string            // URL of the file
	Into     string            // destination path, never replaced
	Digest   [sha256.Size]byte // SHA-256 of the whole file
	Bytes    int64             // length of the file, 0 if unknown
	MaxBytes int64             // maximum length if Bytes is 0
	Text     bool              // whether the file is a tokenizer or configuration, otherwise ONNX
	// Check can refuse a file whose digest is correct. Check may be nil.
	Check        func(path string) error
	StallTimeout time.Duration // 0 for the package's StallTimeout
	Progress     progress.Func // reports kB

	transport http.RoundTripper // for tests
}

type Result struct {
	Bytes   int64 // length of the file
	Resumed int64 // number of bytes kept from an earlier transfer
	Already bool  // whether the file existed, so that nothing was fetched
}

// PartPath returns the path of the incomplete file during a download.
func PartPath(into string) string { return into + ".part" }

// Get fetches a file. Errors wrap cpar.ErrInput for invalid options,
// cpar.ErrCorrupt for a digest mismatch, cpar.ErrCloud for server and network
// faults, and cpar.ErrStorage for local faults.
func Get(ctx context.Context, o Options) (Result, error) {
	r, err := get(ctx, o)
	if err != nil {
		return r, fmt.Errorf("fetching %s: %w", sanitize.Text(filepath.Base(o.Into)), err)
	}
	return r, nil
}

func get(ctx context.Context, o Options) (r Result, err error) {
	u, err := CheckAddress(o.Address)
	if err != nil {
		return r, err
	}
	if err := CheckName(o.Into); err != nil {
		return r, err
	}
	switch _, err := os.Lstat(o.Into); {
	case err == nil:
		return checkExisting(ctx, o)
	case !errors.Is(err, fs.ErrNotExist):
		return r, durable.StorageError("looking at", o.Into, 0, err)
	}
	t := &transfer{Options: o, url: u, part: PartPath(o.Into)}
	t.StallTimeout = cmp.Or(t.StallTimeout, StallTimeout)
	if r.Resumed, err = t.resumeOffset(); err != nil {
		return r, err
	}
	if o.Bytes == 0 || r.Resumed != o.Bytes {
		if r.Resumed, err = t.receive(ctx, r.Resumed); err != nil {
			return r, err
		}
	}
	if r.Bytes, err = t.finish(ctx); errors.Is(err, cpar.ErrCorrupt) && r.Resumed > 0 {
		if r.Resumed, err = t.receive(ctx, 0); err == nil {
			r.Bytes, err = t.finish(ctx)
		}
	}
	return r, err
}

func checkExisting(ctx context.Context, o Options) (Result, error) {
	digest, n, err := sum(ctx, o.Into, o.Progress)
	switch {
	case err != nil:
		return Result{}, err
	case digest != o.Digest:
		return Result{}, hint.Add(fmt.Errorf("%w: another file of that name exists and is kept", cpar.ErrInput), "give the new one another name: --out FILE")
	}
	return Result{Bytes: n, Already: true}, nil
}

// A transfer is one call of Get.
type transfer struct {
	Options
	url  *url.URL
	part string // PartPath(Into)
}

func (t *transfer) resumeOffset() (int64, error) {
	info, err := os.Lstat(t.part)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, durable.StorageError("looking at", t.part, 0, err)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%w: %s is not a regular file", cpar.ErrInput, t.part)
	case info.Size() > t.maxBytes():
		return 0, t.discard() // left over from another file
	}
	return info.Size(), nil
}

func (t *transfer) maxBytes() int64 {
	if t.Bytes > 0 {
		return t.Bytes
	}
	return t.MaxBytes
}

func (t *transfer) discard() error {
	if err := os.Remove(t.part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.StorageError("removing", t.part, 0, err)
	}
	return nil
}

func (t *transfer) finish(ctx context.Context) (int64, error) {
	digest, n, err := sum(ctx, t.part, t.Progress)
	if err != nil {
		return 0, err
	}
	if digest != t.Digest {
		return 0, t.refuse(hint.Add(fmt.Errorf("%w: its SHA-256 is %x, not %x: the received data was removed", cpar.ErrCorrupt, digest, t.Digest),
			"the address has another file, or the data was changed on the way; try again, or pass another address (--from)"))
	}
	if !t.Text {
		err = CheckFile(t.part)
	}
	if err == nil && t.Check != nil {
		err = t.Check(t.part)
	}
	if err != nil {
		return 0, t.refuse(fmt.Errorf("its digest is correct, but the file cannot be used and was removed: %w", err))
	}
	if err := durable.OS.RenameNew(t.part, t.Into); err != nil {
		return 0, durable.StorageError("renaming", t.part, 0, err)
	}
	if err := durable.OS.SyncDir(filepath.Dir(t.Into)); err != nil {
		return 0, durable.StorageError("syncing folder", filepath.Dir(t.Into), 0, err)
	}
	return n, nil
}

func (t *transfer) refuse(err error) error { return errors.Join(err, t.discard()) }

func sum(ctx context.Context, path string, tell progress.Func) (digest [sha256.Size]byte, n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return digest, 0, durable.StorageError("reading", path, 0, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return digest, 0, fmt.Errorf("%w: %s is not a regular file", cpar.ErrInput, path)
	}
	h, buf := sha256.New(), make([]byte, 1<<20)
	for {
		k, err := f.Read(buf)
		h.Write(buf[:k])
		n += int64(k)
		tell.Report("digest, kB", int(n/1000), int(info.Size()/1000))
		switch {
		case err == io.EOF:
			return [sha256.Size]byte(h.Sum(nil)), n, nil
		case err != nil:
			return digest, n, durable.StorageError("reading", path, 0, err)
		case ctx.Err() != nil:
			return digest, n, stopped(path)
		}
	}
}

func stopped(part string) error {
	return hint.Add(errors.New("it was stopped"), "the received part is kept in %s; run the same command again to resume", part)
}

package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

// minRate is a transfer's minimum bytes per second, averaged over StallTimeout.
const minRate = 1000

// A fault is an error of the server or the network. It matches cpar.ErrCloud,
// but its text does not include that error's text.
type fault struct{ text string }

func (f fault) Error() string        { return f.text }
func (f fault) Is(target error) bool { return target == cpar.ErrCloud }

func faultf(format string, args ...any) error { return fault{fmt.Sprintf(format, args...)} }

var errSlow = errors.New("too slow")

// receive fetches the file, starting at byte offset `from`. It returns the
// number of earlier bytes that it kept.
func (t *transfer) receive(ctx context.Context, from int64) (resumed int64, err error) {
	if resumed, err = t.attempt(ctx, from); errors.Is(err, errCannotResume) {
		if err := t.discard(); err != nil {
			return 0, err
		}
		resumed, err = t.attempt(ctx, 0)
	}
	return resumed, err
}

// attempt makes one request. It returns the offset in the file at which the
// response starts.
func (t *transfer) attempt(ctx context.Context, from int64) (start int64, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var came atomic.Int64 // bytes received
	go t.watch(ctx, end, &came)

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	request.Header.Set("Accept-Encoding", "identity") // compression would change digests and ranges
	if from > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	response, err := t.client().Do(request)
	if err != nil {
		return 0, t.broken(ctx, err)
	}
	defer response.Body.Close()
	came.Add(t.minBytes()) // count the response as progress, so that watch does not end a slow start

	start, total, err := t.checkResponse(response, from)
	switch {
	case errors.Is(err, errComplete):
		return from, nil
	case err != nil:
		return 0, err
	}
	return start, t.write(ctx, response, start, total, &came)
}

var (
	errCannotResume = errors.New("the server cannot resume at this offset")
	errComplete     = errors.New("the file is complete")
)

// checkResponse validates a response header. It returns the offset of the body
// in the file, and the length of the file or -1 if unknown.
func (t *transfer) checkResponse(r *http.Response, from int64) (start, total int64, err error) {
	if coded := r.Header.Get("Content-Encoding"); coded != "" && coded != "identity" {
		return 0, 0, faultf("%s sends it encoded (%s), which was not asked for", t.host(), sanitize.Text(coded))
	}
	switch r.StatusCode {
	case http.StatusOK: // the server ignores ranges, or the file has changed
		start, total = 0, r.ContentLength
	case http.StatusPartialContent:
		var last int64
		_, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%d", &start, &last, &total)
		if err != nil || from == 0 || start != from || last != total-1 {
			if from > 0 {
				return 0, 0, errCannotResume
			}
			return 0, 0, faultf("%s sends a part that was not asked for", t.host())
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes */%d", &total); err == nil && total == from && from > 0 {
			return 0, 0, errComplete // the digest is checked later
		}
		if from > 0 {
			return 0, 0, errCannotResume
		}
		fallthrough
	default:
		return 0, 0, hint.Add(faultf("%s answers %s", t.host(), sanitize.Text(r.Status)), "check that the file is still available there, or pass another address with --from")
	}
	switch {
	case t.Bytes > 0 && total >= 0 && total != t.Bytes:
		err = hint.Add(fmt.Errorf("%w: %s sends %d bytes, but the file has %d", cpar.ErrCorrupt, t.host(), total, t.Bytes), "pass another address with --from")
	case total > t.maxBytes():
		err = t.tooLong()
	}
	return start, total, err
}

func (t *transfer) tooLong() error {
	return hint.Add(fmt.Errorf("%w: %s sends more than %d bytes", cpar.ErrInput, t.host(), t.maxBytes()), "if this is the intended file, raise --limit-file")
}

// write writes the response body to the partial file, from offset `start` on.
func (t *transfer) write(ctx context.Context, r *http.Response, start, total int64, came *atomic.Int64) error {
	body := bufio.NewReaderSize(countingReader{r.Body, came}, 1<<16)
	if start == 0 && !t.Text {
		head, err := body.Peek(headBytes)
		if err != nil && err != io.EOF {
			return t.broken(ctx, err)
		}
		if err := checkHead(head); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(t.part, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return durable.StorageError("opening", t.part, total, err)
	}
	defer f.Close()
	if err := f.Truncate(start); err != nil {
		return durable.StorageError("shortening", t.part, 0, err)
	}
	// Concurrent downloads of one file may corrupt the partial file. The digest
	// check detects this.
	at, buf := start, make([]byte, 1<<16)
	for {
		n, failed := body.Read(buf)
		if at+int64(n) > t.maxBytes() {
			f.Close()
			return t.refuse(t.tooLong())
		}
		if _, err := f.WriteAt(buf[:n], at); err != nil {
			return hint.Add(durable.StorageError("writing", t.part, total-at, err), "free some space, then run the same command again to resume")
		}
		at += int64(n)
		t.Progress.Report("fetching, kB", int(at/1000), int(max(total, at)/1000))
		switch {
		case failed == io.EOF && total >= 0 && at < total:
			return t.broken(ctx, io.ErrUnexpectedEOF)
		case failed == io.EOF:
			return durable.StorageError("syncing", t.part, 0, f.Sync())
		case failed != nil:
			return t.broken(ctx, failed)
		}
	}
}

// broken returns the error of a transfer that ended early. Its bytes are kept.
func (t *transfer) broken(ctx context.Context, err error) error {
	kept := "the received part is kept; run the same command again to resume"
	if _, err := os.Lstat(t.part); err != nil {
		kept = "nothing was received; try again later"
	}
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		return hint.Add(faultf("%s sent almost nothing in %v", t.host(), t.StallTimeout), "%s", kept)
	case ctx.Err() != nil:
		return stopped(t.part)
	case errors.Is(err, errForbiddenRedirect):
		return err
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address
	}
	return hint.Add(faultf("%s: %s", t.host(), sanitize.Text(err.Error())), "%s", kept)
}

func (t *transfer) minBytes() int64 { return max(1, int64(t.StallTimeout.Seconds()*minRate)) }

// watch cancels a transfer that is slower than minRate. Otherwise a server
// could keep cpar waiting forever.
func (t *transfer) watch(ctx context.Context, end context.CancelCauseFunc, came *atomic.Int64) {
	tick := time.NewTicker(t.StallTimeout)
	defer tick.Stop()
	for before := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := came.Load()
		if now-before < t.minBytes() {
			end(errSlow)
			return
		}
		before = now
	}
}

type countingReader struct {
	io.Reader
	came *atomic.Int64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.came.Add(int64(n))
	return n, err
}

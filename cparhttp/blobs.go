package cparhttp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cpar"
	"cpar/internal/sanitize"
)

const (
	// MaxBlobBytes is the maximum size of a blob.
	MaxBlobBytes = 64 << 20
	// MaxBlobPage is the maximum number of blobs in a BlobList.
	MaxBlobPage = 1000
	// HeaderSHA256 is the header with the digest of an uploaded blob.
	HeaderSHA256 = "Cpar-Sha256"
)

var blobName = regexp.MustCompile(`^[a-z0-9_-][a-z0-9._-]{0,127}$`)

// ValidBlobName reports whether a blob may have the name. Such a name contains no
// slash, so it is safe as the name of a file.
func ValidBlobName(name string) bool { return blobName.MatchString(name) }

type AlbumInfo struct {
	Album string `json:"album" doc:"The id of the album, with 32 lower-case hexadecimal digits"`
	Blobs int    `json:"blobs" doc:"The number of blobs in the album"`
	Bytes int64  `json:"bytes" doc:"The total size of these blobs, in bytes"`
}

// AlbumList is the response to PathAlbums.
type AlbumList struct {
	Albums []AlbumInfo `json:"albums" nullable:"false" doc:"The albums that contain blobs, ordered by id"`
}

// BlobInfo describes a blob (an encrypted file of an album) in a BlobList.
type BlobInfo struct {
	Name     string      `json:"name" doc:"The name of the blob"`
	Bytes    int64       `json:"bytes" doc:"The size of the blob, in bytes"`
	SHA256   cpar.Digest `json:"sha256" doc:"The SHA-256 of the blob, with 64 lower-case hexadecimal digits"`
	Modified time.Time   `json:"modified" doc:"The time when the blob was stored, in UTC"`
}

// BlobList is the response to PathBlobs: one page of an album's blobs.
type BlobList struct {
	Blobs []BlobInfo `json:"blobs" nullable:"false" doc:"The blobs, ordered by name"`
	Next  string     `json:"next" doc:"The value of the parameter after for the next page. It is empty on the last page."`
}

func blobRoute(album, name string) string {
	return strings.NewReplacer("{album}", album, "{name}", name).Replace(PathBlob)
}

// Albums lists the albums of the token's tenant.
func (c *Client) Albums(ctx context.Context) ([]AlbumInfo, error) {
	var list AlbumList
	if err := c.json(ctx, call{method: http.MethodGet, path: PathAlbums}, &list); err != nil {
		return nil, fmt.Errorf("listing albums: %w", err)
	}
	for i := range list.Albums {
		list.Albums[i].Album = sanitize.Text(c.token.Redact(list.Albums[i].Album))
	}
	return list.Albums, nil
}

// PutBlob stores a blob. If old is nil and a blob with other bytes has the name,
// PutBlob fails with ErrExists. If old is not nil, it replaces the blob with
// digest old, or fails with ErrChanged. Storing the same bytes again succeeds.
func (c *Client) PutBlob(ctx context.Context, album, name string, b []byte, old *cpar.Digest) error {
	header := http.Header{HeaderSHA256: {fmt.Sprintf("%x", sha256.Sum256(b))}}
	if old == nil {
		header.Set("If-None-Match", "*")
	} else {
		header.Set("If-Match", strconv.Quote(old.String()))
	}
	if _, err := c.do(ctx, call{method: http.MethodPut, path: blobRoute(album, name), header: header, body: b}); err != nil {
		return fmt.Errorf("storing blob %s: %w", name, err)
	}
	return nil
}

// GetBlob fetches length bytes of a blob from an offset. If length is negative,
// it fetches all bytes up to the end. It checks the digest of a whole blob only.
func (c *Client) GetBlob(ctx context.Context, album, name string, offset, length int64) ([]byte, error) {
	if length == 0 {
		return []byte{}, nil
	}
	var info BlobInfo
	fault := error(nil)
	k := call{method: http.MethodGet, path: blobRoute(album, name), want: TypeBinary, limit: MaxBlobBytes, header: http.Header{}}
	whole := offset == 0 && length < 0
	switch {
	case length > 0:
		k.header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	case !whole:
		k.header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	k.answered = func(h http.Header) {
		info, fault = blobInfo(name, h)
		if fault == nil && !whole && !strings.HasPrefix(h.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)) {
			fault = fmt.Errorf("%w: it sent another range", cpar.ErrCorrupt)
		}
	}
	b, err := c.do(ctx, k)
	switch {
	case err != nil:
	case fault != nil:
		err = c.cloudFault(fault)
	case whole && cpar.Digest(sha256.Sum256(b)) != info.SHA256:
		err = fmt.Errorf("cloud at %s: %w: the digest of its answer does not match", c.base, cpar.ErrCloud)
	case length > 0 && int64(len(b)) > length:
		err = fmt.Errorf("cloud at %s: %w: it sent %d bytes, %d were requested", c.base, cpar.ErrCloud, len(b), length)
	}
	if err != nil {
		return nil, fmt.Errorf("fetching blob %s: %w", name, err)
	}
	return b, nil
}

// blobInfo reads a blob's size, digest and time from the header of a response.
func blobInfo(name string, h http.Header) (info BlobInfo, err error) {
	tag, err1 := strconv.Unquote(h.Get("ETag"))
	sum, err2 := cpar.ParseDigest(tag)
	modified, err3 := http.ParseTime(h.Get("Last-Modified"))
	size, err4 := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return info, fmt.Errorf("%w: its answer lacks the size, the digest or the time of the blob", cpar.ErrCorrupt)
	}
	return BlobInfo{name, size, sum, modified}, nil
}

// StatBlob describes a blob. Field Modified has a precision of one second.
func (c *Client) StatBlob(ctx context.Context, album, name string) (info BlobInfo, err error) {
	fault := error(nil)
	k := call{method: http.MethodHead, path: blobRoute(album, name), answered: func(h http.Header) { info, fault = blobInfo(name, h) }}
	if _, err = c.do(ctx, k); err == nil && fault != nil {
		err = c.cloudFault(fault)
	}
	if err != nil {
		return BlobInfo{}, fmt.Errorf("looking at blob %s: %w", name, err)
	}
	return info, nil
}

// ListBlobs returns a page of the blobs whose names begin with prefix and sort
// after the name after, ordered by name. If next is not empty, another call with
// next as after returns the next page.
func (c *Client) ListBlobs(ctx context.Context, album, prefix, after string) (list []BlobInfo, next string, err error) {
	var page BlobList
	k := call{method: http.MethodGet, path: strings.Replace(PathBlobs, "{album}", album, 1), query: url.Values{"prefix": {prefix}, "after": {after}}}
	if err := c.json(ctx, k, &page); err != nil {
		return nil, "", fmt.Errorf("listing blobs: %w", err)
	}
	if len(page.Blobs) > MaxBlobPage {
		return nil, "", fmt.Errorf("listing blobs: cloud at %s: %w: its page has %d blobs", c.base, cpar.ErrCloud, len(page.Blobs))
	}
	for _, b := range page.Blobs {
		if !ValidBlobName(b.Name) {
			return nil, "", fmt.Errorf("listing blobs: cloud at %s: %w: it lists a blob with an invalid name", c.base, cpar.ErrCloud)
		}
		if !strings.HasPrefix(b.Name, prefix) || b.Name <= after || b.Bytes < 0 {
			return nil, "", fmt.Errorf("listing blobs: cloud at %s: %w: it lists other blobs, or in another order", c.base, cpar.ErrCloud)
		}
		after = b.Name
	}
	if page.Next != "" && (page.Next != after || len(page.Blobs) == 0) {
		return nil, "", fmt.Errorf("listing blobs: cloud at %s: %w: its pages have a gap", c.base, cpar.ErrCloud)
	}
	return page.Blobs, page.Next, nil
}

// DeleteBlob deletes a blob, if it exists.
func (c *Client) DeleteBlob(ctx context.Context, album, name string) error {
	if _, err := c.do(ctx, call{method: http.MethodDelete, path: blobRoute(album, name)}); err != nil {
		return fmt.Errorf("deleting blob %s: %w", name, err)
	}
	return nil
}

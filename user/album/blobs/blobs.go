// Package blobs defines the untrusted storage of an album: named blobs, which a
// server keeps for the owner.
package blobs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"cpar"
	"cpar/cparhttp"
)

// A Blob describes a stored blob as the server reports it.
type Blob struct {
	Name     string
	Size     int64
	Digest   [32]byte // SHA-256 of the bytes
	Modified time.Time
}

var (
	// ErrNotFound reports that the store lacks a blob.
	ErrNotFound = errors.New("there is no such blob")
	// ErrExists reports a blob of this name with other bytes.
	ErrExists = errors.New("there is another blob of this name")
	// ErrChanged reports that the blob to replace is no longer the expected one.
	ErrChanged = errors.New("the blob has changed meanwhile")
	// ErrDamaged reports that the server has lost or changed what was stored.
	ErrDamaged = fmt.Errorf("%w", cpar.ErrCloud)
)

// A Store keeps named blobs. Errors other than those above wrap cpar.ErrCloud or
// cpar.ErrStorage.
type Store interface {
	// Put stores a blob. If the name is used, Put succeeds for equal bytes and
	// otherwise fails with ErrExists.
	Put(ctx context.Context, name string, b []byte) error
	// Replace replaces the blob whose SHA-256 is `old`. Only blobs that kopia
	// overwrites can be replaced.
	Replace(ctx context.Context, name string, b []byte, old [32]byte) error
	// Get returns length bytes from offset, or all bytes from there if length is −1.
	Get(ctx context.Context, name string, offset, length int64) ([]byte, error)
	Stat(ctx context.Context, name string) (Blob, error)
	// List yields the blobs whose names begin with prefix, sorted by name.
	List(ctx context.Context, prefix string, yield func(Blob) error) error
	// Delete deletes a blob, if it exists.
	Delete(ctx context.Context, name string) error
}

func ValidName(name string) bool { return cparhttp.ValidBlobName(name) }

// Damage returns the error for a blob that the server has lost, swapped or cut
// off. It wraps ErrDamaged.
func Damage(name, what string) error {
	return fmt.Errorf("%w: blob %s of the album %s", ErrDamaged, name, what)
}

// A Pin is the owner's record of a blob. It replaces the server's untrusted list of
// blobs and times.
type Pin struct {
	Size int64
	// Digest is the first half of the SHA-256, which suffices because only the owner
	// creates blobs.
	Digest [16]byte
	// Time is when the owner's device wrote the blob, in seconds since 1970.
	Time int64
}

// PinOf returns the pin of a blob with bytes b that was written at time `at`.
func PinOf(b []byte, at time.Time) Pin {
	d := sha256.Sum256(b)
	return Pin{int64(len(b)), [16]byte(d[:16]), at.Unix()}
}

// Holds reports whether b are the pinned bytes.
func (p Pin) Holds(b []byte) bool { return p.Digest == PinOf(b, time.Time{}).Digest }

// Matches reports whether the listed blob b has the pinned size and digest.
func (p Pin) Matches(b Blob) bool { return p.Size == b.Size && p.Digest == [16]byte(b.Digest[:16]) }

// Check maps the names of pinned blobs that a store lacks or lists with other bytes
// to their problems. It removes all listed blobs from pins.
func Check(ctx context.Context, s Store, pins map[string]Pin) (damaged map[string]string, err error) {
	damaged = map[string]string{}
	err = s.List(ctx, "", func(b Blob) error {
		if p, ok := pins[b.Name]; ok && !p.Matches(b) {
			damaged[b.Name] = "is not the one that was stored"
		}
		delete(pins, b.Name)
		return nil
	})
	for name := range pins {
		damaged[name] = "is missing"
	}
	return damaged, err
}

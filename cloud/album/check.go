package album

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"syscall"

	"cpar"
)

// A Fault describes a blob, possibly deleted, whose bytes are damaged, missing or
// on a bad part of the disk.
type Fault struct {
	Ref
	Err error
}

// A Pace, unless nil, is called before each read with the read's maximum length.
type Pace func(context.Context, int) error

// Check reads all blobs of a tenant, including deleted blobs, and reports each
// fault. With `mark`, it also records faults in the log. Get then fails with
// ErrDamaged until the blob is put again or such a Check finds it intact.
func (s *Store) Check(ctx context.Context, tenant string, mark bool, pace Pace, report func(Fault)) error {
	s.log(tenant).forget() // so that the log, which may be damaged too, is read again
	for after := (Ref{}); ; {
		list, err := s.page(ctx, tenant, after)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, x := range list {
			if err := s.check(ctx, x, mark, pace, report); err != nil {
				return err
			}
			after = x.Ref
		}
	}
}

// pageSize bounds the names that a background task copies from a state at a time,
// because all names take much memory.
var pageSize = 1000

type checked struct {
	Ref
	version
}

// page returns about pageSize versions of the blobs after blob `after`, ordered by
// album and name.
func (s *Store) page(ctx context.Context, tenant string, after Ref) (list []checked, err error) {
	err = s.read(ctx, tenant, func(st *state) error {
		st.all(func(album string, b *blob, v *version) {
			later := album > after.Album || album == after.Album && b.Name > after.Name
			if n := len(list); later && (n < pageSize || list[n-1].Album == album && list[n-1].Name == b.Name) {
				list = append(list, checked{Ref{tenant, album, b.Name}, *v})
			}
		})
		return nil
	})
	return list, err
}

func (s *Store) check(ctx context.Context, x checked, mark bool, pace Pace, report func(Fault)) error {
	fault := s.verify(ctx, x.Ref, &x.version, pace)
	if fault != nil && !errors.Is(fault, cpar.ErrCorrupt) && !errors.Is(fault, syscall.EIO) {
		return fmt.Errorf("%v: %w", x.Ref, fault)
	}
	if fault == nil && !(mark && x.Bad) {
		return nil
	}
	here := false // whether the version still exists
	err := s.commit(ctx, x.Tenant, func(st *state) (*event, error) {
		object := x.object(x.Album, x.Name)
		here = st.hasObject(object)
		if !here || !mark || x.Bad == (fault != nil) {
			return nil, nil
		}
		return &event{Mark: object, Bad: fault != nil}, nil
	})
	if err == nil && here && fault != nil {
		report(Fault{x.Ref, fault})
	}
	return err
}

// verify reads the object of a version and compares its digest. The error wraps
// cpar.ErrCorrupt if the object is missing or has other bytes.
func (s *Store) verify(ctx context.Context, r Ref, v *version, pace Pace) error {
	body, err := s.objects.Get(ctx, r.Tenant, v.object(r.Album, r.Name), 0, -1)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: it is missing", cpar.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	sum, err := Digest(ctx, body, v.Bytes, pace)
	if err == nil && sum != v.SHA256 {
		err = fmt.Errorf("%w: it has other bytes than were uploaded", cpar.ErrCorrupt)
	}
	return err
}

// Digest returns the SHA-256 digest of a file of `size` bytes.
func Digest(ctx context.Context, r io.Reader, size int64, pace Pace) (sum cpar.Digest, err error) {
	h, buf := sha256.New(), make([]byte, 256<<10)
	for read := int64(0); err == nil; {
		if pace != nil {
			err = pace(ctx, int(min(int64(len(buf)), max(size-read, 1))))
		} else {
			err = ctx.Err()
		}
		if err != nil {
			return sum, fmt.Errorf("verifying: %w", err)
		}
		var n int
		n, err = r.Read(buf)
		h.Write(buf[:n])
		read += int64(n)
	}
	if err != io.EOF {
		return sum, fmt.Errorf("verifying: %w: %w", cpar.ErrStorage, err)
	}
	return cpar.Digest(h.Sum(nil)), nil
}

package album

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"cpar"
)

// A Fault describes a blob, deleted or not, whose bytes are damaged or missing.
type Fault struct {
	Ref
	Deleted bool
	Err     error
}

// Check reads all that a tenant has stored and reports each fault. It calls
// pace, if not nil, before each read with its maximum length.
func (s *Store) Check(ctx context.Context, tenant string, pace func(context.Context, int) error, report func(Fault)) error {
	return s.check(ctx, tenant, pace, func(r Ref, v *version, err error) error {
		if err != nil {
			report(Fault{r, !v.live(), err})
		}
		return nil
	})
}

// Scrub is Check, and also marks faulty blobs, which then answer ErrDamaged
// until they are put again.
func (s *Store) Scrub(ctx context.Context, tenant string, pace func(context.Context, int) error, report func(Fault)) error {
	return s.check(ctx, tenant, pace, func(r Ref, v *version, err error) error {
		if bad := err != nil; bad != v.Bad {
			object := v.object(r.Album, r.Name)
			if err := s.commit(ctx, tenant, func(_ *tenantLog, st *state) (*event, error) {
				if !st.has(r, v) {
					return nil, nil
				}
				return &event{Mark: object, Bad: bad}, nil
			}); err != nil {
				return err
			}
		}
		if err != nil {
			report(Fault{r, !v.live(), err})
		}
		return nil
	})
}

func (s *Store) check(ctx context.Context, tenant string, pace func(context.Context, int) error, done func(r Ref, v *version, err error) error) error {
	type item struct {
		Ref
		v version
	}
	var list []item
	if err := s.read(ctx, tenant, func(st *state) error {
		st.all(func(album string, b *blob, v *version) { list = append(list, item{Ref{tenant, album, b.Name}, *v}) })
		return nil
	}); err != nil {
		return err
	}
	for _, x := range list {
		err := s.verify(ctx, x.Ref, &x.v, pace)
		if err != nil && !errors.Is(err, cpar.ErrCorrupt) {
			return fmt.Errorf("%v: %w", x.Ref, err)
		}
		if err != nil {
			// It may have been purged meanwhile.
			here := false
			if err := s.read(ctx, tenant, func(st *state) error { here = st.has(x.Ref, &x.v); return nil }); err != nil {
				return err
			}
			if !here {
				continue
			}
		}
		if err := done(x.Ref, &x.v, err); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the state has this version of a blob.
func (s *state) has(r Ref, v *version) bool {
	b := s.find(r.Album, r.Name)
	return b != nil && slices.ContainsFunc(b.Versions, func(x *version) bool { return x.Key == v.Key && x.SHA256 == v.SHA256 })
}

// verify reads an object. Faults wrap cpar.ErrCorrupt.
func (s *Store) verify(ctx context.Context, r Ref, v *version, pace func(context.Context, int) error) error {
	body, err := s.objects.Get(ctx, r.Tenant, v.object(r.Album, r.Name), 0, -1)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: it is missing", cpar.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	h, buf := sha256.New(), make([]byte, 256<<10)
	for n := int64(0); ; {
		if pace != nil {
			err = pace(ctx, int(min(int64(len(buf)), max(v.Bytes-n, 1))))
		} else {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("verifying: %w", err)
		}
		k, err := body.Read(buf)
		h.Write(buf[:k])
		if n += int64(k); n > v.Bytes || err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("verifying: %w: %w", cpar.ErrStorage, err)
		}
	}
	if cpar.Digest(h.Sum(nil)) != v.SHA256 {
		return fmt.Errorf("%w: it has other bytes than were uploaded", cpar.ErrCorrupt)
	}
	return nil
}

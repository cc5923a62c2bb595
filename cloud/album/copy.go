package album

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"cpar"
)

// CopyOptions configures the copying of albums here and of indexes in package
// store.
type CopyOptions struct {
	// DryRun counts without writing. The destination may then be nil.
	DryRun bool
	// Prune deletes data of the destination that the source lacks.
	Prune bool
	// Lacking copies an index, or a tenant's albums, only if the destination has
	// no version of them.
	Lacking bool
	// Verify reads the destination's existing data instead of trusting their size.
	Verify bool
	// Progress, if not nil, is called after each index.
	Progress func(done, total int)
}

type Copied struct {
	Blobs   int     // copied blobs
	Bytes   int64   // bytes of the copied blobs
	Kept    int64   // bytes already present
	States  int     // 1 if the destination's state was replaced
	Pruned  int     // blobs deleted at the destination
	Damaged []Fault // blobs that could not be copied
}

// Copy copies a tenant's albums, including deleted blobs, from one storage to
// another. It copies the objects first and then the state that names them. A
// server may use storage `from` meanwhile. Storage `to` may be nil in a dry run.
func Copy(ctx context.Context, from, to Objects, tenant string, o CopyOptions) (Copied, error) {
	c := copying{CopyOptions: o, from: New(from, Options{}).log(tenant)}
	if to != nil {
		c.to = New(to, Options{}).log(tenant)
	}
	err := errPurged
	for try := 0; errors.Is(err, errPurged) && try < races; try++ {
		c.Copied = Copied{}
		if err = Unreadable(c.from.refresh(ctx)); err == nil {
			err = c.copy(ctx)
		}
	}
	return c.Copied, err
}

// errPurged means that a collection at the source removed an object before it
// was copied.
var errPurged = fmt.Errorf("%w: %w: blobs are purged meanwhile", cpar.ErrStorage, ErrBusy)

type copying struct {
	CopyOptions
	Copied
	from, to *tenantLog
}

func (c *copying) copy(ctx context.Context) error {
	// An object that is damaged at the source may be intact at the destination.
	c.from.state.all(func(_ string, _ *blob, v *version) { v.Bad = false })
	there := newState()
	if c.to != nil {
		if err := c.to.refresh(ctx); err != nil {
			return err
		}
		there = c.to.state
	}
	a, err1 := json.Marshal(c.from.state.Albums)
	b, err2 := json.Marshal(there.Albums)
	same := bytes.Equal(a, b)
	if err := errors.Join(err1, err2); err != nil || !same && (c.Lacking && len(there.Albums) > 0 || !c.Prune && len(c.from.state.Albums) == 0) {
		return err
	}
	if err := c.objects(ctx); err != nil || same {
		return err
	}
	if c.States++; c.DryRun {
		return nil
	}
	if err := c.to.commit(ctx, c.to.tenant, func(now *state) (*event, error) {
		if c.Lacking && len(now.Albums) > 0 {
			return nil, nil // a client has stored blobs meanwhile
		}
		return &event{Restore: c.from.state}, nil
	}); err != nil {
		return err
	}
	// Copy objects again that a collection at the destination removed before the
	// state named them.
	copied := c.Copied
	err := c.objects(ctx)
	c.Copied = copied
	if err != nil || c.Lacking {
		return err
	}
	// Without Lacking, no running server uses the destination and needs its older
	// entries.
	list, last, err := c.to.entries(ctx)
	for _, o := range list {
		if err == nil && o.Name < entryName(last) {
			err = c.to.objects.Delete(ctx, c.to.tenant, o.Name)
		}
	}
	return err
}

// objects copies the objects that the source's state names and the destination
// lacks. With Prune, it deletes the destination's other objects.
func (c *copying) objects(ctx context.Context) (err error) {
	have := map[string]int64{}
	if c.to != nil {
		for o, err := range c.to.objects.List(ctx, c.to.tenant, "") {
			if err != nil {
				return err
			}
			if _, isEntry := entrySeq(o.Name); !isEntry {
				have[o.Name] = o.Bytes
			}
		}
	}
	c.from.state.all(func(album string, b *blob, v *version) {
		r, object := Ref{c.from.tenant, album, b.Name}, v.object(album, b.Name)
		size, there := have[object]
		delete(have, object)
		if there = there && size == v.Bytes; there && c.Verify && err == nil {
			there = c.to.verify(ctx, r, v, nil) == nil
		}
		if there {
			c.Kept += v.Bytes
		} else if err == nil {
			err = c.object(ctx, r, object, v)
		}
	})
	for object := range have {
		if !c.Prune || err != nil {
			break
		}
		if c.Pruned++; !c.DryRun {
			err = c.to.objects.Delete(ctx, c.to.tenant, object)
		}
	}
	return err
}

// A Source reads stored bytes for a copy until its context is done. A read error
// of the disk wraps cpar.ErrCorrupt, unlike an error of the destination.
type Source struct {
	Context context.Context
	io.Reader
}

func (s Source) Read(p []byte) (int, error) {
	if err := s.Context.Err(); err != nil {
		return 0, err
	}
	n, err := s.Reader.Read(p)
	return n, Unreadable(err)
}

// Unreadable adds cpar.ErrCorrupt to an error that reports a bad part of the disk.
func Unreadable(err error) error {
	if errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w: %w", cpar.ErrCorrupt, err)
	}
	return err
}

func (c *copying) object(ctx context.Context, r Ref, object string, v *version) error {
	var err error
	if !c.DryRun {
		var body io.ReadCloser
		body, err = c.from.objects.Get(ctx, r.Tenant, object, 0, -1)
		if err = Unreadable(err); err == nil {
			err = c.to.objects.Put(ctx, r.Tenant, object, v.Bytes, v.SHA256, Source{ctx, body})
			body.Close()
		}
	}
	switch {
	case err == nil:
		c.Blobs++
		c.Bytes += v.Bytes
	case errors.Is(err, cpar.ErrCorrupt), errors.Is(err, ErrNotFound):
		gone, e := New(c.from.objects, Options{}).unnamed(ctx, r.Tenant, []Object{{Name: object}})
		if e != nil {
			return e
		}
		if len(gone) > 0 {
			return errPurged
		}
		c.Damaged = append(c.Damaged, Fault{r, err})
	default:
		return fmt.Errorf("%v: %w", r, err)
	}
	return nil
}

// Discard removes all albums of a tenant, which must no longer have access.
func Discard(ctx context.Context, objects Objects, tenant string) error {
	for o, err := range objects.List(ctx, tenant, "") {
		if err == nil {
			err = objects.Delete(ctx, tenant, o.Name)
		}
		if err != nil {
			return fmt.Errorf("removing albums: %w", err)
		}
	}
	return nil
}

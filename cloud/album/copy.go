package album

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cpar"
)

type CopyOptions struct {
	// DryRun writes nothing. The destination may be nil.
	DryRun bool
	// Prune deletes what the source lacks.
	Prune bool
	// Lacking skips what the destination has, in any state.
	Lacking bool
	// Verify reads existing data instead of trusting their size.
	Verify bool
	// Progress, if not nil, is called for each index.
	Progress func(done, total int)
}

// Copied counts what Copy did.
type Copied struct {
	Blobs   int // copied
	Bytes   int64
	Kept    int64 // bytes already present
	Pruned  int   // albums
	Changed int   // albums whose state was written
	Damaged []Fault
}

// Copy copies a tenant's albums, with the deleted blobs, from one storage to
// another. from may be in use. Each album is copied as it was at one moment. to
// may be nil in a dry run.
func Copy(ctx context.Context, from, to Objects, tenant string, o CopyOptions) (Copied, error) {
	c := copying{CopyOptions: o, tenant: tenant, from: New(from, Options{})}
	src, err := c.from.current(ctx, tenant)
	if err != nil {
		return c.Copied, err
	}
	if to != nil {
		c.to = New(to, Options{})
	}
	if err := c.look(ctx); err != nil {
		return c.Copied, err
	}
	for _, album := range slices.Sorted(maps.Keys(src.Albums)) {
		if c.there.Albums[album] != nil && o.Lacking {
			continue
		}
		err := c.album(ctx, album, src.Albums[album])
		for try := 0; errors.Is(err, ErrBusy) && try < races; try++ {
			if err = c.look(ctx); err == nil {
				err = c.album(ctx, album, src.Albums[album])
			}
		}
		if err != nil {
			return c.Copied, err
		}
	}
	for album := range c.there.Albums {
		if src.Albums[album] == nil && o.Prune {
			c.Pruned++
			if err := c.write(ctx, &event{Album: album, Drop: true}); err != nil {
				return c.Copied, err
			}
		}
	}
	return c.Copied, nil
}

type copying struct {
	CopyOptions
	Copied
	tenant   string
	from, to *Store
	// there is the state of the destination, and have its objects: keys by the
	// rest of the name. Keys of the source mean nothing there.
	there *state
	have  map[string][]stored
}

type stored struct {
	key   string
	bytes int64
}

// look reads the destination. Objects that its state names come first.
func (c *copying) look(ctx context.Context) (err error) {
	c.there, c.have = newState(), map[string][]stored{}
	if c.to == nil {
		return nil
	}
	if c.there, err = c.to.current(ctx, c.tenant); err != nil {
		return err
	}
	named, err := c.to.named(ctx, c.tenant)
	if err != nil {
		return err
	}
	for _, first := range []bool{true, false} {
		for o, err := range c.to.objects.List(ctx, c.tenant, "") {
			if err != nil {
				return err
			}
			n, ok := began(o.Name)
			if !ok || named[o.Name] != first || !first && n < c.there.Swept {
				continue // another kind, or about to be removed
			}
			if at := strings.LastIndexByte(o.Name, '.'); at > 0 {
				c.have[o.Name[:at]] = append(c.have[o.Name[:at]], stored{o.Name[at+1:], o.Bytes})
			}
		}
	}
	return nil
}

// current returns a tenant's state, which belongs to the caller.
func (s *Store) current(ctx context.Context, tenant string) (st *state, err error) {
	err = s.read(ctx, tenant, func(now *state) error {
		b, err := json.Marshal(now)
		if err == nil {
			st = newState()
			err = json.Unmarshal(b, st)
		}
		return err
	})
	return st, err
}

// write commits an event at the destination. Like a put, an import fails with
// ErrBusy if a collection there may have removed some of its objects.
func (c *copying) write(ctx context.Context, e *event) error {
	if !c.DryRun {
		if err := c.to.commit(ctx, c.tenant, func(_ *tenantLog, st *state) (*event, error) {
			for _, b := range e.Import {
				for _, v := range b.Versions {
					object := v.object(e.Album, b.Name)
					if n, _ := began(object); n < st.Swept && !st.has(Ref{Album: e.Album, Name: b.Name}, v) {
						return nil, fmt.Errorf("%w: %w", cpar.ErrStorage, ErrBusy)
					}
				}
			}
			return e, nil
		}); err != nil {
			return err
		}
	}
	c.Changed++
	return nil
}

func (c *copying) album(ctx context.Context, album string, blobs []*blob) error {
	var whole []*blob
	for _, b := range blobs {
		r, kept := Ref{c.tenant, album, b.Name}, &blob{Name: b.Name}
		for _, v := range b.Versions {
			there := *v
			err := c.version(ctx, r, v, &there)
			if err == nil {
				kept.Versions = append(kept.Versions, &there)
				continue
			}
			now, e := c.from.current(ctx, c.tenant)
			switch {
			case e != nil:
				return e
			case !now.has(r, v): // purged meanwhile
			case errors.Is(err, cpar.ErrCorrupt), errors.Is(err, ErrNotFound):
				c.Damaged = append(c.Damaged, Fault{r, err})
			default:
				return fmt.Errorf("%v: %w", r, err)
			}
		}
		if len(kept.Versions) > 0 {
			whole = append(whole, kept)
		}
	}
	a, err1 := json.Marshal(whole)
	b, err2 := json.Marshal(c.there.Albums[album])
	if bytes.Equal(a, b) || len(whole) == 0 {
		return errors.Join(err1, err2)
	}
	return c.write(ctx, &event{Album: album, Import: whole})
}

// version copies an object unless the destination has it, and sets its key
// there.
func (c *copying) version(ctx context.Context, r Ref, v, there *version) error {
	there.Bad, there.Key = false, ""
	stem := strings.TrimSuffix(there.object(r.Album, r.Name), ".")
	for i, o := range c.have[stem] {
		there.Key = o.key
		if o.bytes == v.Bytes && (!c.Verify || c.to.verify(ctx, r, there, nil) == nil) {
			c.have[stem] = slices.Delete(c.have[stem], i, i+1) // each version has its own
			c.Kept += v.Bytes
			return nil
		}
	}
	if !c.DryRun {
		l := c.to.log(c.tenant)
		there.Key = newKey(l.seq)
		body, err := c.from.objects.Get(ctx, c.tenant, v.object(r.Album, r.Name), 0, -1)
		if err != nil {
			return err
		}
		defer body.Close()
		if err := c.to.objects.Put(ctx, c.tenant, there.object(r.Album, r.Name), v.Bytes, v.SHA256, body); err != nil {
			return err
		}
	}
	c.Blobs++
	c.Bytes += v.Bytes
	return nil
}

// Discard removes everything of a tenant that no longer has access.
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

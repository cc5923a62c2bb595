package device

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/model/feature"
	"cpar/user"
)

type Answerer interface {
	Annotate(ctx context.Context, q *cpar.Request) (*cpar.Reply, cparhttp.Stats, error)
	AnnotateBatch(ctx context.Context, requests []*cpar.Request) ([]*cpar.Reply, []cparhttp.Stats, error)
}

// A Cloud stores indexes and answers requests. *cparhttp.Client implements it.
type Cloud interface {
	Answerer
	List(ctx context.Context) ([]cparhttp.IndexInfo, error)
	Manifest(ctx context.Context, id cpar.IndexID) (*cpar.Manifest, error)
	Segment(ctx context.Context, id cpar.IndexID, s cpar.Segment, w io.Writer) error
	URL() string
}

type OpenOptions struct {
	// Index is the id that the user gave, or zero.
	Index cpar.IndexID
	// Name is the name that the user gave, or "".
	Name string
	// Ready, if not nil, may reject the index before large segments are fetched.
	Ready func(*user.Owner) error
	// Cache caches features of photos. Nil selects the device's local store.
	Cache    *feature.Cache
	Progress progress.Func
}

// An Index is an index at a cloud, opened on this device in the cloud's current
// generation. It must not be used concurrently.
type Index struct {
	*user.Owner
	Manifest *cpar.Manifest
	// Fetched is the number of bytes downloaded to open the index.
	Fetched uint64

	answers   Answerer
	noBatches bool    // the cloud does not support batches
	opener    *opener // nil after OpenedByHand
}

type opener struct {
	device *Device
	cloud  Cloud
	key    *user.Key
	opt    OpenOptions
}

// OpenedByHand returns an index for an owner that already holds all necessary
// segments. It does not compare the generation with the generations seen.
func OpenedByHand(answers Answerer, o *user.Owner, m *cpar.Manifest) *Index {
	return &Index{Owner: o, Manifest: m, answers: answers}
}

// Open opens an index at a cloud, with only the key, and caches the downloads.
// It returns ErrCloud for a generation older than the newest seen. Unless the
// user named the index, it also returns ErrCloud for an index other than the
// default, a deleted index, and a scheme that shows the cloud distances. It
// returns ErrInput for a scheme that the key does not allow. Nothing that Open
// sends depends on a photo.
func (d *Device) Open(ctx context.Context, cloud Cloud, key *user.Key, opt OpenOptions) (*Index, error) {
	if opt.Name != "" {
		x, err := d.Find(ctx, cloud, key, opt.Name, opt.Progress)
		if err == nil {
			err = d.checkNamed(key, x)
		}
		if err != nil {
			return nil, fmt.Errorf("opening index %s: %w", sanitize.Text(opt.Name), err)
		}
		opt.Index = x.ID
	}
	id := opt.Index
	if id == (cpar.IndexID{}) {
		var err error
		if id, err = d.choose(ctx, cloud, key); err != nil {
			return nil, err
		}
	}
	if opt.Cache == nil {
		// Without a cache, features are computed again.
		opt.Cache, _ = d.Features(key, DefaultLimit)
	}
	x := &Index{answers: cloud, opener: &opener{d, cloud, key, opt}}
	return x, x.openRetrying(ctx, id)
}

// choose selects the index if the user named none: the default if the cloud
// lists it, otherwise the only index listed.
func (d *Device) choose(ctx context.Context, cloud Cloud, key *user.Key) (id cpar.IndexID, err error) {
	list, err := cloud.List(ctx)
	if err != nil {
		return id, err
	}
	used, ok, err := d.InUse(key)
	if err != nil {
		return id, err
	}
	for _, x := range list {
		if ok && x.ID == used.ID {
			return x.ID, nil
		}
	}
	switch {
	case len(list) == 1:
		return list[0].ID, nil // the only index may have replaced the default
	case len(list) == 0:
		return id, hint.Add(fmt.Errorf("%w: the cloud at %s has no index", cpar.ErrInput, cloud.URL()), "push one with: cpar push INDEX --cloud %s", cloud.URL())
	case ok:
		return id, fmt.Errorf("choosing one of %d indexes: %w", len(list), otherIndex(used.Origin))
	}
	return id, hint.Add(fmt.Errorf("%w: the cloud at %s has %d indexes", cpar.ErrInput, cloud.URL(), len(list)), "choose one with --index; %s", whereIDs)
}

// Reload opens the generation that the cloud has now. On failure, x keeps its
// previous generation.
func (x *Index) Reload(ctx context.Context) error { return x.openRetrying(ctx, x.Manifest.ID) }

// openRetrying opens the current generation of an index. It tries once more if
// an update removed a segment in the meantime.
func (x *Index) openRetrying(ctx context.Context, id cpar.IndexID) error {
	err := x.openState(ctx, id)
	if errors.Is(err, cparhttp.ErrNotFound) {
		err = x.openState(ctx, id)
	}
	return err
}

// openState opens the cloud's current generation and fetches the segments that
// the owner must hold. On failure, x keeps its previous generation.
func (x *Index) openState(ctx context.Context, id cpar.IndexID) error {
	h := x.opener
	named, what := h.opt.Index == id, "opening the index that the cloud offers"
	if named { // an id that the cloud chose must not appear in messages
		what = fmt.Sprintf("opening index %v", id)
	}
	m, err := h.cloud.Manifest(ctx, id)
	if err != nil {
		return err
	}
	if m.ID != id {
		return fmt.Errorf("%s: %w: its manifest has another id", what, cpar.ErrCloud)
	}
	o, err := h.ledger(ctx, m)
	switch {
	case errors.Is(err, user.ErrNotAllowed) && !named:
		err = weakIndex() // the hint must not suggest allowing an index that the user did not name
	case err != nil:
		return err
	case x.Owner == nil && h.opt.Name != "" && o.Name() != h.opt.Name:
		err = fmt.Errorf("%w: it offers the index under a different name than a moment ago", cpar.ErrCloud)
	default:
		err = h.device.checkSeen(h.key, o, named)
	}
	if err == nil {
		err = h.device.keepLabel(h.key, o.Label, m, "")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if h.opt.Ready != nil {
		if err := h.opt.Ready(o); err != nil {
			return err
		}
	}
	o.SetFeatureCache(h.opt.Cache)
	fetched, err := h.hold(ctx, o, m)
	x.Fetched += fetched
	if err != nil {
		return err
	}
	x.Owner, x.Manifest = o, m
	return nil
}

// ledger fetches the ledger and the profile, opens them with the key, and
// caches them in encrypted form.
func (h *opener) ledger(ctx context.Context, m *cpar.Manifest) (*user.Owner, error) {
	f := h.fetcher(ctx, m.ID)
	o, err := user.Open(h.key, m, f.small)
	if err != nil {
		return nil, hint.Add(err, "pass the key file it was built with")
	}
	f.keep()
	return o, nil
}

// A fetcher reads segments of an index from the cache or the cloud.
type fetcher struct {
	*opener
	ctx   context.Context
	id    cpar.IndexID
	fresh map[string][]byte // downloads by path in the cache
	bytes uint64            // number of bytes downloaded
}

func (h *opener) fetcher(ctx context.Context, id cpar.IndexID) *fetcher {
	return &fetcher{opener: h, ctx: ctx, id: id, fresh: map[string][]byte{}}
}

// Locate returns a function that maps a photo's content digest to its records.
// It fetches the identities of all records.
func (x *Index) Locate(ctx context.Context) (func(content [32]byte) []uint32, error) {
	if x.opener == nil {
		return nil, nil // opened by hand
	}
	f := x.opener.fetcher(ctx, x.Manifest.ID)
	return x.Owner.Locate(x.opener.key, x.Manifest, func(s cpar.Segment) ([]byte, error) { return f.fetch(s, "", func(int) {}) })
}

// small fetches a ledger or profile.
func (f *fetcher) small(s cpar.Segment) ([]byte, error) {
	if s.Bytes > user.MaxProfileBytes {
		return nil, fmt.Errorf("%w: a %v of %d bytes", cpar.ErrCorrupt, s.Kind, s.Bytes)
	}
	return f.fetch(s, f.device.cached(folderOf[s.Kind], f.id.String()), func(int) {})
}

var folderOf = map[cpar.SegmentKind]string{cpar.SegmentLedger: "ledgers", cpar.SegmentProfile: "profiles"}

// fetch reads a segment from the cache file `cached`, or downloads it and
// calls `tell` for every piece.
func (f *fetcher) fetch(s cpar.Segment, cached string, tell func(n int)) ([]byte, error) {
	if cached != "" {
		if b, err := os.ReadFile(cached); err == nil && uint64(len(b)) == s.Bytes && sha256.Sum256(b) == s.Digest {
			return b, nil
		}
	}
	var buffer bytes.Buffer
	if err := f.cloud.Segment(f.ctx, f.id, s, &countingWriter{&buffer, tell}); err != nil {
		return nil, err
	}
	f.fresh[cached] = buffer.Bytes()
	f.bytes += s.Bytes
	return buffer.Bytes(), nil
}

// keep caches the downloads after the key has authenticated them, so that a
// cloud cannot fill the disk. If a write fails, the next run downloads the
// segment again.
func (f *fetcher) keep() {
	for path, b := range f.fresh {
		if path != "" && os.MkdirAll(filepath.Dir(path), 0o700) == nil {
			_ = durable.WriteFile(path, b, 0o600)
		}
	}
}

// hold passes the owner the segments listed by Owner.Needs and returns the
// number of bytes downloaded.
func (h *opener) hold(ctx context.Context, o *user.Owner, m *cpar.Manifest) (fetched uint64, err error) {
	needs := o.Needs(m)
	if len(needs) == 0 {
		return 0, nil
	}
	var total, done uint64
	for _, s := range needs {
		total += s.Bytes
	}
	f, segments := h.fetcher(ctx, m.ID), map[cpar.Digest][]byte{}
	for _, s := range needs {
		segments[s.Digest], err = f.fetch(s, h.device.cached("held", m.ID.String(), s.Digest.String()), func(n int) {
			done += uint64(n)
			h.opt.Progress.Report("fetch, kB", int(done/1000), int(total/1000))
		})
		if err != nil {
			return f.bytes, err
		}
	}
	if err := o.Hold(m, segments); err != nil {
		return f.bytes, err
	}
	f.keep()
	h.device.dropOthers(m.ID, segments)
	return f.bytes, nil
}

func (d *Device) dropOthers(id cpar.IndexID, keep map[cpar.Digest][]byte) {
	folder := d.cached("held", id.String())
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if digest, err := cpar.ParseDigest(e.Name()); err == nil && keep[digest] == nil {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

func (d *Device) forget(id cpar.IndexID) {
	if d.Cache != "" {
		_ = os.RemoveAll(d.cached("held", id.String()))
		for _, folder := range folderOf {
			_ = os.Remove(d.cached(folder, id.String()))
		}
	}
}

type countingWriter struct {
	io.Writer
	wrote func(n int)
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.wrote(n)
	return n, err
}

package attack

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
	"cpar/user"
	"cpar/user/device"
)

// Offers: the cloud offers the owner's device an index of an older format, of a
// scheme that reveals distances, with weaker parameters, or of an earlier
// generation (version). The attack succeeds if the device opens the offered
// index, because the device would then send requests.

const (
	offeredPhotos      = 40
	offeredGenerations = 5
)

type servedIndex struct {
	manifest []byte
	segments map[cpar.Digest][]byte
}

func read(folder string) (*servedIndex, error) {
	x, err := indexdir.Open(folder)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	o := &servedIndex{segments: map[cpar.Digest][]byte{}}
	for i, s := range x.Manifest().Segments {
		o.segments[s.Digest] = slices.Clone(x.Segments()[i])
	}
	o.manifest, err = x.Manifest().MarshalBinary()
	return o, err
}

func (o *servedIndex) with(alter func(b []byte)) *servedIndex {
	b := slices.Clone(o.manifest[:len(o.manifest)-sha256.Size])
	alter(b)
	sum := sha256.Sum256(b)
	return &servedIndex{manifest: append(b, sum[:]...), segments: o.segments}
}

func (o *servedIndex) withSegment(s cpar.Segment, b []byte) *servedIndex {
	digest := sha256.Sum256(b)
	out := o.with(func(manifest []byte) {
		copy(manifest[strings.Index(string(manifest), string(s.Digest[:])):], digest[:])
	})
	out.segments = maps.Clone(o.segments)
	out.segments[digest] = b
	return out
}

type offering struct {
	*servedIndex
	calls int
}

var errNotServed = errors.New("not served")

func (o *offering) List(context.Context) ([]cparhttp.IndexInfo, error) {
	id := cpar.IndexID(o.manifest[8:]) // docs/FORMAT.md: the identifier follows the header
	return []cparhttp.IndexInfo{{ID: id, Scheme: cpar.SchemeSealed.String()}}, nil
}

func (o *offering) Manifest(context.Context, cpar.IndexID) (*cpar.Manifest, error) {
	return cpar.DecodeManifest(o.manifest)
}

func (o *offering) Segment(_ context.Context, _ cpar.IndexID, s cpar.Segment, w io.Writer) error {
	_, err := w.Write(o.segments[s.Digest])
	return err
}

func (o *offering) URL() string { return "offering" }

func (o *offering) Annotate(context.Context, *cpar.Request) (*cpar.Reply, cparhttp.Stats, error) {
	o.calls++
	return nil, cparhttp.Stats{}, errNotServed
}

func (o *offering) AnnotateBatch(context.Context, []*cpar.Request) ([]*cpar.Reply, []cparhttp.Stats, error) {
	o.calls++
	return nil, nil, errNotServed
}

func (r *run) offers(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "cpar-attack-")
	if err != nil {
		return fmt.Errorf("making a folder for the indexes: %w: %w", cpar.ErrStorage, err)
	}
	defer os.RemoveAll(folder)
	o := &offers{run: r, folder: folder, key: user.NewKey(cpar.Schemes()...)}
	for _, stage := range []func(context.Context) error{o.make, o.rollback, o.downgrade, o.trust} {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	return nil
}

type offers struct {
	run    *run
	folder string
	key    *user.Key
	// `fork` is another successor of the first generation than generations[1].
	// `weak` is an index that reveals distances.
	generations []*servedIndex
	fork, weak  *servedIndex
	devices     int
}

func (o *offers) make(ctx context.Context) error {
	images := o.run.c.Train[:min(offeredPhotos, len(o.run.c.Train))]
	index, weak := filepath.Join(o.folder, "index"), filepath.Join(o.folder, "weak")
	for folder, scheme := range map[string]cpar.Scheme{index: cpar.SchemeSealed, weak: cpar.SchemeCAPIA} {
		b, err := user.Setup(ctx, o.key, images, user.Options{Scheme: scheme, PCA: o.run.o.PCA})
		if err != nil {
			return err
		}
		if _, err := b.Encrypt(ctx, folder); err != nil {
			return err
		}
	}
	var err error
	if o.weak, err = read(weak); err != nil {
		return err
	}
	next := func(folder string) (*servedIndex, error) {
		if _, err := user.Add(ctx, o.key, folder, images[:1], nil); err != nil {
			return nil, err
		}
		return read(folder)
	}
	first, err := read(index)
	if err != nil {
		return err
	}
	fork := filepath.Join(o.folder, "fork")
	if err := os.CopyFS(fork, os.DirFS(index)); err != nil {
		return fmt.Errorf("copying an index: %w: %w", cpar.ErrStorage, err)
	}
	if o.fork, err = next(fork); err != nil {
		return err
	}
	for o.generations = []*servedIndex{first}; len(o.generations) < offeredGenerations; {
		state, err := next(index)
		if err != nil {
			return err
		}
		o.generations = append(o.generations, state)
	}
	return nil
}

func (o *offers) device(ctx context.Context, seen *servedIndex) (*device.Device, error) {
	o.devices++
	home := filepath.Join(o.folder, fmt.Sprint("device ", o.devices))
	d := &device.Device{State: filepath.Join(home, "state"), Cache: filepath.Join(home, "cache")}
	if _, err := d.Open(ctx, &offering{servedIndex: seen}, o.key, device.OpenOptions{}); err != nil {
		return nil, fmt.Errorf("opening the offered index: %w", err)
	}
	return d, nil
}

// offered offers index `others[i]` to a device that has seen index `seen[i]`.
// If `before` is not nil, it is called before each offer.
func (o *offers) offered(ctx context.Context, attack string, known int, seen, others []*servedIndex, before func(context.Context, *device.Device, *servedIndex) error) error {
	opened := 0
	var said []string
	for i, other := range others {
		d, err := o.device(ctx, seen[i])
		if err == nil && before != nil {
			err = before(ctx, d, other)
		}
		if err != nil {
			return err
		}
		cloud := &offering{servedIndex: other}
		_, err = d.Open(ctx, cloud, o.key, device.OpenOptions{})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || cloud.calls > 0 {
			opened++
			continue
		}
		said = append(said, kindOf(err))
	}
	o.refusals(proportion(attack, cpar.SchemeSealed.String(), known, opened, len(others), 0), said)
	return nil
}

func (o *offers) refusals(row Row, said []string) {
	slices.Sort(said)
	row.Refused = strings.Join(slices.Compact(said), ", ")
	o.run.add(row)
}

func kindOf(err error) string {
	for _, kind := range []error{cpar.ErrVersion, cpar.ErrCloud, cpar.ErrCorrupt, cpar.ErrKey, cpar.ErrInput, cpar.ErrStorage} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}

// rollback offers every earlier generation, and mixtures of two generations, to
// a device that has seen a later generation. It also offers the fork to a
// device that has seen the second generation.
func (o *offers) rollback(ctx context.Context) error {
	var seen, older, first, mixed []*servedIndex
	for i, now := range o.generations {
		for _, before := range o.generations[:i] {
			seen, older = append(seen, now), append(older, before)
			some, err := mixGenerations(now, before)
			if err != nil {
				return err
			}
			mixed = append(mixed, some...)
			first = append(first, slices.Repeat([]*servedIndex{before}, len(some))...)
		}
	}
	if err := o.offered(ctx, "rollback", len(o.generations), seen, older, nil); err != nil {
		return err
	}
	if err := o.offered(ctx, "rollback-fork", 2, o.generations[1:2], []*servedIndex{o.fork}, nil); err != nil {
		return err
	}
	return o.offered(ctx, "rollback-mixed", len(o.generations), first, mixed, nil)
}

func mixGenerations(now, other *servedIndex) (out []*servedIndex, err error) {
	manifests := make([]*cpar.Manifest, 2)
	for i, x := range []*servedIndex{now, other} {
		if manifests[i], err = cpar.DecodeManifest(x.manifest); err != nil {
			return nil, err
		}
	}
	segments := maps.Clone(now.segments)
	maps.Copy(segments, other.segments)
	for _, kind := range []cpar.SegmentKind{cpar.SegmentLedger, cpar.SegmentHints, cpar.SegmentKeywords, cpar.SegmentVectors} {
		mixed := *manifests[0]
		mixed.Segments = slices.DeleteFunc(slices.Clone(mixed.Segments), func(s cpar.Segment) bool { return s.Kind == kind })
		for _, s := range manifests[1].Segments {
			if s.Kind == kind {
				mixed.Segments = append(mixed.Segments, s)
			}
		}
		slices.SortStableFunc(mixed.Segments, func(a, b cpar.Segment) int { return cmp.Compare(a.Kind, b.Kind) })
		// Skip mixtures with invalid manifests.
		if b, err := mixed.MarshalBinary(); err == nil && !bytes.Equal(b, now.manifest) {
			out = append(out, &servedIndex{b, segments})
		}
	}
	return out, nil
}

// downgrade offers indexes of older formats, of other schemes (including one
// that reveals distances), and with other parameters.
func (o *offers) downgrade(ctx context.Context) error {
	now := o.generations[len(o.generations)-1]
	m, err := cpar.DecodeManifest(now.manifest)
	if err != nil {
		return err
	}
	var versions, schemes []*servedIndex
	for v := range uint16(cpar.Version) {
		versions = append(versions, now.with(func(b []byte) { binary.LittleEndian.PutUint16(b[6:], v) }))
	}
	for _, s := range cpar.Schemes() {
		if s != cpar.SchemeSealed {
			schemes = append(schemes, now.with(func(b []byte) { b[8+len(m.ID)] = byte(s) }))
		}
	}
	schemes = append(schemes, o.weak, o.weak.with(func(b []byte) { copy(b[8:], m.ID[:]) }))
	weaker, err := weakerParameters(now, m)
	if err != nil {
		return err
	}
	for _, attack := range []struct {
		name   string
		offers []*servedIndex
	}{{"downgrade-version", versions}, {"downgrade-scheme", schemes}, {"downgrade-parameters", weaker}} {
		if err := o.offered(ctx, attack.name, 0, slices.Repeat([]*servedIndex{now}, len(attack.offers)), attack.offers, nil); err != nil {
			return err
		}
	}
	return nil
}

// weakerParameters returns offers that each differ from the current index in
// one parameter (a scale, norm or block width that remains valid) or in one
// byte.
func weakerParameters(now *servedIndex, m *cpar.Manifest) (out []*servedIndex, err error) {
	segment, ok := m.Segment(cpar.SegmentParams)
	if !ok {
		return nil, fmt.Errorf("%w: an index without parameters", cpar.ErrCorrupt)
	}
	b := now.segments[segment.Digest]
	p, err := lattice.DecodeSections(b)
	if err != nil {
		return nil, err
	}
	for _, alter := range []func(*lattice.Params){
		func(p *lattice.Params) { p.Block /= 2 }, func(p *lattice.Params) { p.Block *= 2 },
		func(p *lattice.Params) { p.LogT-- }, func(p *lattice.Params) { p.RecordNorm-- }, func(p *lattice.Params) { p.RequestNorm-- },
		func(p *lattice.Params) { p.Addend-- }, func(p *lattice.Params) { p.LogRecordScale-- },
	} {
		other := p
		alter(&other.Open)
		if encoded, err := other.AppendBinary(nil); err == nil { // skip parameters that no client could decode
			out = append(out, now.withSegment(segment, encoded))
		}
	}
	for i := range b {
		other := slices.Clone(b)
		other[i] ^= 1
		out = append(out, now.withSegment(segment, other))
	}
	return out, nil
}

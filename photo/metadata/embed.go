package metadata

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"cpar/internal/hint"

	"github.com/beevik/etree"
)

type header struct {
	segments         []segment
	xmp              int // index of the packet, -1 if none
	resourceSegments []resourceSegment
	iptc             []byte // the block before the edit
}

type resourceSegment struct {
	segment   int
	resources []resource
	tail      []byte
}

// editJPEG changes the keywords inside a JPEG file. It keeps all bytes after
// the header and all segments except XMP and IPTC.
func editJPEG(name string, change func(*target) []string) (*Edit, error) {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, readError(err)
	}
	f, size, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e, err := changeJPEG(f, size, change)
	if e != nil {
		e.Path, e.embedded = name, true
	}
	return e, err
}

type file interface {
	io.ReaderAt
	io.ReadSeeker
}

func changeJPEG(f file, size int64, change func(*target) []string) (*Edit, error) {
	start := make([]byte, 2)
	if _, err := f.ReadAt(start, 0); err != nil || [2]byte(start) != [2]byte{0xff, soi} {
		return nil, hint.Add(fmt.Errorf("%w: it is not a JPEG", ErrNotEmbeddable), "write sidecars for photos of other kinds")
	}
	all, err := readSegments(f, func(byte) bool { return true })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	h := &header{segments: all}
	t, err := h.target()
	if err != nil {
		return nil, err
	}
	added := change(t)
	if !t.changed {
		return nil, nil
	}
	after, err := h.rewrite(t)
	if err != nil {
		return nil, err
	}
	e := &Edit{Added: added}
	if e.Old, e.New, err = h.difference(after, f, size); err != nil {
		return nil, err
	}
	if err := e.digest(f); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Edit) digest(f io.ReadSeeker) error {
	before, after := sha256.New(), sha256.New()
	before.Write(e.Old)
	after.Write(e.New)
	if _, err := f.Seek(int64(len(e.Old)), io.SeekStart); err != nil {
		return readError(err)
	}
	if _, err := io.Copy(io.MultiWriter(before, after), f); err != nil {
		return readError(err)
	}
	e.Before, e.After = [32]byte(before.Sum(nil)), [32]byte(after.Sum(nil))
	return nil
}

func (h *header) target() (*target, error) {
	t := &target{xmp: newPacket(), iptc: &iim{}}
	var err error
	h.xmp = slices.IndexFunc(h.segments, func(s segment) bool { return s.is(app1, signatureXMP) })
	if h.xmp >= 0 {
		if t.xmp, err = parsePacket(h.segments[h.xmp].payload[len(signatureXMP):]); err != nil {
			return nil, fmt.Errorf("%w: XMP: %w", errDamaged, err)
		}
	}
	if err := h.checkExtended(t.xmp); err != nil {
		return nil, err
	}
	if h.resourceSegments, err = resourceSegments(h.segments); err != nil {
		return nil, fmt.Errorf("%w: IPTC: %w", errDamaged, err)
	}
	found := 0
	for _, p := range h.resourceSegments {
		for _, r := range p.resources {
			if r.id == resourceIPTC {
				found++
				h.iptc = r.data
			}
		}
	}
	if found > 1 {
		return nil, fmt.Errorf("%w: it has %d IPTC blocks", ErrNotEmbeddable, found)
	}
	if t.iptc, err = parseIIM(h.iptc); err != nil {
		return nil, fmt.Errorf("%w: IPTC: %w", errDamaged, err)
	}
	return t, nil
}

// checkExtended rejects a file with keywords in extended XMP, which this
// package cannot edit.
func (h *header) checkExtended(main *packet) error {
	data, err := extendedXMP(h.segments, main)
	if err == nil && data == nil {
		return nil
	}
	var p *packet
	if err == nil {
		p, err = parsePacket(data)
	}
	if err != nil {
		return fmt.Errorf("%w: extended XMP: %w", errDamaged, err)
	}
	for _, pr := range []property{subject, hierarchical, tagsList} {
		if p.has(pr) {
			return hint.Add(fmt.Errorf("%w: its %s is in extended XMP", ErrNotEmbeddable, pr), "write a sidecar")
		}
	}
	return nil
}

// resourceSegments reads the Photoshop resources. If resources continue in the
// next segment, both are joined in the first.
func resourceSegments(segments []segment) ([]resourceSegment, error) {
	var found []resourceSegment
	var joined []byte
	var err error
	for i, s := range segments {
		if !s.is(app13, signaturePhotoshop) {
			continue
		}
		data := s.payload[len(signaturePhotoshop):]
		joined = append(joined, data...)
		resources, tail, e := parseResources(data)
		if e != nil {
			err = e
		}
		found = append(found, resourceSegment{i, resources, tail})
	}
	if err == nil || len(found) == 1 {
		return found, err
	}
	resources, tail, err := parseResources(joined)
	if err != nil {
		return nil, err
	}
	first := resourceSegment{found[0].segment, resources, tail}
	for i := range found {
		found[i].resources, found[i].tail = nil, nil
	}
	found[0] = first
	return found, nil
}

func (h *header) rewrite(t *target) ([]segment, error) {
	segments := slices.Clone(h.segments)
	gone := make([]bool, len(segments))
	more := map[int][]segment{} // segments to insert after a segment

	lead := -1 // last of the segments that must precede XMP
	for i, s := range segments {
		if s.marker != app0 && !s.is(app1, signatureExif) {
			break
		}
		lead = i
	}
	xmp := h.xmp
	switch payload, err := xmpPayload(t.xmp); {
	case err != nil:
		return nil, err
	case xmp >= 0 && t.xmp.isOwnAndEmpty():
		gone[xmp] = true
	case xmp >= 0:
		segments[xmp].payload = payload
	case !t.xmp.isOwnAndEmpty():
		xmp = lead
		more[lead] = append(more[lead], segment{marker: app1, payload: payload})
	}
	if iptc := t.iptc.bytes(); !bytes.Equal(iptc, h.iptc) {
		h.placeIPTC(iptc, max(xmp, lead), segments, gone, more)
	}

	out := slices.Clone(more[-1])
	for i, s := range segments {
		if !gone[i] {
			out = append(out, s)
		}
		out = append(out, more[i]...)
	}
	return out, nil
}

// placeIPTC writes the IPTC block into its old resource, or after the other
// resources, or into a new segment after the segment with index `behind`.
func (h *header) placeIPTC(iptc []byte, behind int, segments []segment, gone []bool, more map[int][]segment) {
	if len(h.resourceSegments) == 0 {
		for _, payload := range split(newResource(resourceIPTC, iptc).raw) {
			more[behind] = append(more[behind], segment{marker: app13, payload: payload})
		}
		return
	}
	placed, fits := false, true
	for i := range h.resourceSegments {
		p := &h.resourceSegments[i]
		var resources []resource
		for _, r := range p.resources {
			switch {
			case r.id == resourceIPTC:
				placed = true
				if len(iptc) == 0 {
					continue
				}
				r = r.withData(iptc)
			case r.id == resourceDigest && len(r.data) == md5.Size && [md5.Size]byte(r.data) == md5.Sum(h.iptc):
				// The old digest declared that IPTC and XMP agree. They agree again.
				sum := md5.Sum(iptc)
				r = r.withData(sum[:])
			}
			resources = append(resources, r)
		}
		p.resources = resources
	}
	if !placed && len(iptc) > 0 {
		h.resourceSegments[0].resources = append(h.resourceSegments[0].resources, newResource(resourceIPTC, iptc))
	}
	var joined []byte
	for _, p := range h.resourceSegments {
		data := p.bytes()
		joined = append(joined, data...)
		fits = fits && len(data) <= maxPayload-len(signaturePhotoshop)
		gone[p.segment] = len(data) == 0
		segments[p.segment].payload = append([]byte(signaturePhotoshop), data...)
	}
	if fits {
		return
	}
	for _, p := range h.resourceSegments {
		gone[p.segment] = true
	}
	first := h.resourceSegments[0].segment
	for _, payload := range split(joined) {
		more[first] = append(more[first], segment{marker: app13, payload: payload})
	}
}

func (p resourceSegment) bytes() []byte {
	var out []byte
	for _, r := range p.resources {
		out = append(out, r.raw...)
	}
	return append(out, p.tail...)
}

func (r resource) withData(data []byte) resource {
	other := newResource(r.id, data)
	head := 6 + (int(r.raw[6])+2)&^1
	raw := append(slices.Clone(r.raw[:head]), other.raw[8:]...)
	return resource{r.id, raw, data}
}

func split(stream []byte) [][]byte {
	var payloads [][]byte
	for chunk := range slices.Chunk(stream, maxPayload-len(signaturePhotoshop)) {
		payloads = append(payloads, append([]byte(signaturePhotoshop), chunk...))
	}
	return payloads
}

// xmpPayload returns the packet as a segment payload. If the packet is too
// long, xmpPayload drops its padding.
func xmpPayload(p *packet) ([]byte, error) {
	const room = 65502 // XMP part 3, 1.1.3.1
	data, err := p.bytes()
	if err != nil {
		return nil, err
	}
	if len(data) > room {
		for _, c := range p.doc.Child {
			if text, ok := c.(*etree.CharData); ok && blank(text) {
				text.SetData("\n")
			}
		}
		if data, err = p.bytes(); err != nil {
			return nil, err
		}
	}
	if len(data) > room {
		return nil, hint.Add(fmt.Errorf("%w: its XMP would take %d bytes, but only %d fit", ErrNotEmbeddable, len(data), room), "write a sidecar")
	}
	return append([]byte(signatureXMP), data...), nil
}

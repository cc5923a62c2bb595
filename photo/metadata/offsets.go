package metadata

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"cpar/internal/hint"
)

// difference returns the bytes from the beginning of the file to the end of the
// last changed segment, before and after the change.
//
// EXIF offsets are relative to their segment, and offsets of Google and Samsung
// are relative to the end of the file. Both stay valid. difference corrects
// offsets of the Multi-Picture Format (CIPA DC-007). It rejects files with
// other data after the image, because a maker note could refer to it.
func (h *header) difference(after []segment, file io.ReaderAt, size int64) (before, now []byte, err error) {
	length := func(segments []segment) (n int) {
		for _, s := range segments {
			n += len(s.bytes())
		}
		return n
	}
	oldLength, newLength := length(h.segments), length(after)
	if grown := newLength - oldLength; grown != 0 {
		multi, err := moveMPF(h.segments, after, grown)
		if err != nil {
			return nil, nil, hint.Add(fmt.Errorf("%w: its list of images: %w", ErrNotEmbeddable, err), "write a sidecar")
		}
		if !multi {
			if err := checkTrailer(file, int64(2+oldLength), size); err != nil {
				return nil, nil, err
			}
		}
	}
	before, now = []byte{0xff, soi}, []byte{0xff, soi}
	old, changed := h.segments, after
	for len(old) > 0 && len(changed) > 0 && bytes.Equal(old[len(old)-1].bytes(), changed[len(changed)-1].bytes()) {
		old, changed = old[:len(old)-1], changed[:len(changed)-1]
	}
	for _, s := range old {
		before = append(before, s.bytes()...)
	}
	for _, s := range changed {
		now = append(now, s.bytes()...)
	}
	return before, now, nil
}

// moveMPF corrects the Multi-Picture Format of a file whose header grew, and
// reports whether the file has one. The size of the first image includes the
// header. The other offsets are relative to the segment.
func moveMPF(old, now []segment, grown int) (bool, error) {
	find := func(segments []segment) (at, place int) {
		for i, s := range segments {
			if s.is(app2, signatureMPF) {
				return i, place
			}
			place += len(s.bytes())
		}
		return -1, 0
	}
	was, oldPlace := find(old)
	if was < 0 {
		return false, nil
	}
	is, place := find(now)
	payload := slices.Clone(now[is].payload)
	if err := moveEntries(payload[len(signatureMPF):], grown, grown-(place-oldPlace)); err != nil {
		return true, err
	}
	now[is].payload = payload
	return true, nil
}

func moveEntries(b []byte, grown, further int) error {
	const tagEntries, entrySize = 0xb002, 16
	if len(b) < 8 || !isTIFF(b) {
		return errTruncated
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 'M' {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(b[4:]))
	if at+2 > uint64(len(b)) {
		return errTruncated
	}
	directory := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(directory) < 12 {
			return errTruncated
		}
		if order.Uint16(directory) == tagEntries {
			n, from := uint64(order.Uint32(directory[4:])), uint64(order.Uint32(directory[8:]))
			if n%entrySize != 0 || from+n > uint64(len(b)) {
				return errTruncated
			}
			for e := b[from : from+n]; len(e) > 0; e = e[entrySize:] {
				if offset := order.Uint32(e[8:]); offset != 0 {
					order.PutUint32(e[8:], uint32(int64(offset)+int64(further)))
				} else if size := order.Uint32(e[4:]); size != 0 {
					order.PutUint32(e[4:], uint32(int64(size)+int64(grown)))
				}
			}
			return nil
		}
		directory = directory[12:]
	}
	return errors.New("it has no entries")
}

// checkTrailer rejects a file with unknown data after the image.
func checkTrailer(file io.ReaderAt, scan, size int64) error {
	end, err := imageEnd(io.NewSectionReader(file, scan, size-scan))
	if err != nil {
		return readError(err)
	}
	rest := size - scan - end
	if rest == 0 {
		return nil
	}
	trailer := io.NewSectionReader(file, scan+end, rest)
	head := make([]byte, min(rest, 32))
	tail := make([]byte, min(rest, 4))
	if _, err := trailer.ReadAt(head, 0); err != nil {
		return readError(err)
	}
	if _, err := trailer.ReadAt(tail, rest-int64(len(tail))); err != nil {
		return readError(err)
	}
	switch {
	case len(head) >= 8 && string(head[4:8]) == "ftyp", // video of a motion photo
		string(tail) == "SEFT", // Samsung's trailer, addressed from the end
		bytes.HasPrefix(head, []byte("CANON OPTIONAL DATA\x00")):
		return nil
	}
	if blank, err := onlyZeros(trailer); err != nil || blank {
		return err
	}
	return hint.Add(fmt.Errorf("%w: %d bytes of an unknown kind follow the image, and another program may refer to their offset", ErrNotEmbeddable, rest),
		"write a sidecar")
}

// imageEnd returns the length of the image data from the first scan to the end
// marker or the end of the file.
func imageEnd(r io.Reader) (n int64, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	next := func() byte {
		if err != nil {
			return 0
		}
		var b byte
		if b, err = br.ReadByte(); err == nil {
			n++
		}
		return b
	}
	for err == nil {
		if next() != 0xff {
			continue
		}
		marker := next()
		for marker == 0xff && err == nil {
			marker = next()
		}
		switch {
		case err != nil, marker == 0, marker >= 0xd0 && marker <= 0xd7:
		case marker == eoi:
			return n, nil
		default: // skip tables between scans
			size := int(next())<<8 | int(next())
			if err == nil && size > 2 {
				var skipped int
				skipped, err = br.Discard(size - 2)
				n += int64(skipped)
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func onlyZeros(r io.Reader) (bool, error) {
	br := bufio.NewReader(r)
	for {
		switch b, err := br.ReadByte(); {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, readError(err)
		case b != 0:
			return false, nil
		}
	}
}

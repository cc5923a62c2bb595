package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpar/internal/sanitize"
)

type blocks struct {
	iim, xmp [][]byte
	xp       []string // XPKeywords of EXIF
	problems []error
	facts    *Facts // nil if the caller does not ask for them
	left     int64  // remaining bytes of blocks addressed by offset
	packed   int64  // decompressed bytes so far
}

// spend rejects overlapping blocks, so that a small file cannot refer to the
// same bytes many times.
func (b *blocks) spend(n int64) error {
	if b.left -= n; b.left < 0 {
		return errors.New("it overlaps other blocks")
	}
	return nil
}

func (b *blocks) problem(where string, err error) {
	switch {
	case err == nil:
	case where == "":
		b.problems = append(b.problems, err)
	default:
		b.problems = append(b.problems, fmt.Errorf("%s: %w", where, err))
	}
}

func (b *blocks) readPhotoshop(data []byte) {
	resources, _, err := parseResources(data)
	b.problem("IPTC", err)
	for _, r := range resources {
		if r.id == resourceIPTC {
			b.iim = append(b.iim, r.data)
		}
	}
}

func (b *blocks) source() source {
	var s source
	for _, data := range b.iim {
		m, err := parseIIM(data)
		b.problem("IPTC", err)
		s.flat = append(s.flat, m.keywords()...)
	}
	for _, data := range b.xmp {
		p, err := parsePacket(data)
		if err != nil {
			b.problem("XMP", err)
			continue
		}
		s.add(p.read())
	}
	for _, v := range b.xp {
		for k := range strings.SplitSeq(v, ";") {
			if k = strings.TrimSpace(k); k != "" {
				s.flat = append(s.flat, k)
			}
		}
	}
	return s
}

type reader struct {
	is   func(head []byte) bool
	read func(b *blocks, r io.ReaderAt, size int64)
}

var readers = []reader{
	{func(h []byte) bool { return bytes.HasPrefix(h, []byte{0xff, soi}) },
		func(b *blocks, r io.ReaderAt, size int64) { b.readJPEG(io.NewSectionReader(r, 0, size)) }},
	{func(h []byte) bool { return bytes.HasPrefix(h, []byte(pngSignature)) }, (*blocks).readPNG},
	{isWebP, (*blocks).readWebP},
	{isTIFF, (*blocks).readTIFF},
	{isHEIF, (*blocks).readHEIF},
	{func(h []byte) bool { return bytes.HasPrefix(h, []byte(signatureRAF)) }, (*blocks).readRAF},
}

// ReadFile reads the keywords of a photo from the file and its sidecars.
// Damaged blocks are reported as Problems.
func ReadFile(path string) (Keywords, []Problem, error) {
	s, problems, err := readAll(path)
	if err != nil {
		return Keywords{}, problems, fmt.Errorf("reading keywords of %s: %w", sanitize.Text(path), err)
	}
	return s.keywords(), problems, nil
}

// Read reads the keywords inside an in-memory photo. `name` supplies the
// extension and appears in messages.
func Read(name string, data []byte) (Keywords, []Problem) {
	s, problems := readBlocks(bytes.NewReader(data), int64(len(data)), name)
	return s.keywords(), problems
}

func readAll(photo string) (source, []Problem, error) {
	f, size, err := open(photo)
	if err != nil {
		return source{}, nil, err
	}
	defer f.Close()
	all, problems := readBlocks(f, size, photo)
	var seen []os.FileInfo
	for _, name := range Sidecars(photo) {
		info, err := os.Stat(name)
		// On case-insensitive systems, two names may denote one file.
		if err != nil || slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
			continue
		}
		seen = append(seen, info)
		s, err := readXMPFile(name)
		if err != nil {
			problems = append(problems, Problem{name, err.Error()})
			continue
		}
		all.add(s)
	}
	return all, problems, nil
}

func readXMPFile(name string) (source, error) {
	data, err := readRegular(name)
	if err != nil || len(data) == 0 {
		return source{}, err
	}
	p, err := parsePacket(data)
	if err != nil {
		return source{}, err
	}
	return p.read(), nil
}

// formatsWithoutKeywords lists extensions of formats that carry no keywords in
// practice.
var formatsWithoutKeywords = map[string]bool{".gif": true, ".bmp": true}

func readBlocks(r io.ReaderAt, size int64, name string) (s source, problems []Problem) {
	b := blocks{left: size}
	head := make([]byte, 32)
	n, err := r.ReadAt(head, 0)
	at := slices.IndexFunc(readers, func(kind reader) bool { return kind.is(head[:n]) })
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		b.problem("", readError(err))
	case size == 0:
		b.problem("", errors.New("the file is empty"))
	case at >= 0:
		readers[at].read(&b, r, size)
		s = b.source()
	case !formatsWithoutKeywords[strings.ToLower(filepath.Ext(name))]:
		b.problem("", errors.New("it is not a photo of a known kind, whatever its name ends in"))
	}
	for _, err := range b.problems {
		problems = append(problems, Problem{name, err.Error()})
	}
	return s, problems
}

// isJPEG reports whether a file exists and begins like a JPEG.
func isJPEG(name string) (bool, error) {
	f, _, err := open(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // no keyword must be removed from a deleted sidecar
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	var start [2]byte
	_, err = io.ReadFull(f, start[:])
	return err == nil && start == [2]byte{0xff, soi}, nil
}

func isWebP(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}

// readWebP collects the blocks of a WebP file, chunks of type, length and data,
// padded to even length.
func (b *blocks) readWebP(r io.ReaderAt, size int64) {
	for at := int64(12); at+8 <= size; {
		var head [8]byte
		if _, err := r.ReadAt(head[:], at); err != nil {
			b.problem("WebP", errTruncated)
			return
		}
		kind, n := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		at += 8
		if kind == "XMP " || kind == "EXIF" {
			data, err := readRange(r, size, at, n)
			switch {
			case err != nil:
				b.problem("WebP", fmt.Errorf("chunk %s: %w", kind, err))
			case kind == "XMP ":
				b.xmp = append(b.xmp, data)
			default:
				data = bytes.TrimPrefix(data, []byte(signatureExif))
				b.readTIFF(bytes.NewReader(data), int64(len(data)))
			}
		}
		at += n + n&1
	}
}

const signatureRAF = "FUJIFILMCCD-RAW "

// readRAF reads the JPEG preview, which holds the metadata of a Fujifilm RAW
// file. Its offset and length are at byte 84.
func (b *blocks) readRAF(r io.ReaderAt, size int64) {
	place, err := readRange(r, size, 84, 8)
	if err != nil {
		b.problem("RAF", errTruncated)
		return
	}
	at, n := int64(binary.BigEndian.Uint32(place)), int64(binary.BigEndian.Uint32(place[4:]))
	if at > size || n > size-at {
		b.problem("RAF", errTruncated)
		return
	}
	b.readJPEG(io.NewSectionReader(r, at, n))
}

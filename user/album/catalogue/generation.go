package catalogue

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"cpar"
	"cpar/internal/wire"
	"cpar/user"
)

// A generation lists the segments of a state of the catalogue.
type generation struct {
	album    cpar.IndexID
	number   uint64
	segments []listed
	// digest identifies the generation. It is not stored.
	digest [sha256.Size]byte
}

// The type listed is a segment's entry in a generation.
type listed struct {
	id     [16]byte
	bytes  uint32
	digest [sha256.Size]byte
}

func (l listed) name() string { return segmentPrefix + hex.EncodeToString(l.id[:]) }

const (
	generationPrefix, segmentPrefix = "cpar-gen-", "cpar-seg-"
	// ThumbPrefix begins the names of thumbnail parts, the blobs of package thumbs.
	ThumbPrefix = "cpar-thumb-"

	generationMagic   = "CPAR"
	generationKind    = 'C'
	generationVersion = 2 // rows of version 1 had no content digests
)

func generationName(number uint64) string { return fmt.Sprintf(generationPrefix+"%016x", number) }

func (g *generation) appendBinary(b []byte) []byte {
	le := binary.LittleEndian
	b = append(append(b, generationMagic...), generationKind, 0)
	b = append(le.AppendUint16(b, generationVersion), g.album[:]...)
	b = le.AppendUint64(b, g.number)
	b = le.AppendUint32(b, uint32(len(g.segments)))
	for _, s := range g.segments {
		b = append(b, s.id[:]...)
		b = append(le.AppendUint32(b, s.bytes), s.digest[:]...)
	}
	return b
}

func readGeneration(b []byte) (*generation, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	magic, kind, zero, version := r.Bytes(4, "magic"), r.U8("kind"), r.U8("reserved byte"), r.U16("version")
	switch {
	case string(magic) != generationMagic || kind != generationKind || zero != 0:
		r.Fail("this is not a generation of an album")
	case version == 0 || version > generationVersion:
		return nil, fmt.Errorf("%w: the album has version %d, this program speaks version %d", cpar.ErrVersion, version, generationVersion)
	}
	g := &generation{digest: digestOf(b)}
	copy(g.album[:], r.Bytes(len(g.album), "album"))
	g.number = r.U64("number")
	for range r.Count(52, "segments") {
		var l listed
		copy(l.id[:], r.Bytes(len(l.id), "segment"))
		l.bytes = r.U32("size of a segment")
		copy(l.digest[:], r.Bytes(len(l.digest), "digest of a segment"))
		g.segments = append(g.segments, l)
	}
	return g, r.Close()
}

func digestOf(plain []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte("cpar/v1/album state"), plain...))
}

func (g *generation) binding() string {
	return fmt.Sprintf("cpar/v1/album generation/%v/%d", g.album, g.number)
}

// history returns the digests of all generations before s, newest first, as See
// expects them.
func (s *State) history() user.History {
	h := make(user.History, 0, len(s.ancestors))
	for end := len(s.ancestors); end > 0; end -= ancestorBytes {
		h = append(h, s.ancestors[end-ancestorBytes:end]...)
	}
	return h
}

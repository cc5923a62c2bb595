// Package index holds the code common to the owner's side of all schemes.
//
//	key, index id           ─▶ Index: derived secrets, profile, projector
//	photos, vectors         ─▶ Collection of Records, in their final order
//	encrypted segments      ─▶ Writer ─▶ folder and manifest
package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"slices"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/internal/progress"
	"cpar/internal/seed"
	"cpar/kdforest"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/keyword"
)

// An Index holds the secrets and parameters of one index that every scheme needs.
type Index struct {
	seed.Redacted
	ID     cpar.IndexID
	Scheme cpar.Scheme
	// Records counts all records ever added.
	Records    int
	Generation uint64
	Profile    profile.Profile
	Projector  profile.Projector
	Keywords   *keyword.Cipher
	Key        seed.Secret  // the owner's key, shared by all indexes
	Source     *seed.Source // for nonces and noise
}

// Secret derives the secret for one purpose. Every derivation includes the
// random id, so indexes never share secrets.
func (x *Index) Secret(purpose string, context ...[]byte) seed.Secret {
	return seed.Derive(x.Key, purpose, append([][]byte{x.ID[:]}, context...)...)
}

// Fresh returns a secret for encrypting one message with the digest
// `contents`. See seed.Source.
func (x *Index) Fresh(purpose string, contents [sha256.Size]byte) seed.Secret {
	return x.Source.Fresh(purpose, x.Generation, contents)
}

// A Digest identifies a message for Fresh.
type Digest struct{ hash hash.Hash }

func NewDigest() Digest { return Digest{sha256.New()} }

// Add adds x and the length of x to d.
func Add[T byte | int16 | uint16 | int64 | float32 | float64](d Digest, x []T) {
	binary.Write(d.hash, binary.LittleEndian, uint64(len(x))) // a hash never fails
	binary.Write(d.hash, binary.LittleEndian, x)
}

func (d Digest) Sum() [sha256.Size]byte { return [sha256.Size]byte(d.hash.Sum(nil)) }

// A Record is one photo of a collection, ready to be encrypted.
type Record struct {
	Photo    int // position among the photos that the caller gave
	Vector   *vector.Vector
	Z        []int16 // projection of Vector by the index's Projector
	Keywords []string
}

// A Collection holds the records of a new index in their final order.
type Collection struct{ Records []Record }

// NewCollection returns the records of photos in the order of the photos.
func NewCollection(vectors []*vector.Vector, keywords [][]string) *Collection {
	c := &Collection{Records: make([]Record, len(vectors))}
	for i, v := range vectors {
		c.Records[i] = Record{Photo: i, Vector: v, Keywords: keywords[i]}
	}
	return c
}

func (c *Collection) Project(p profile.Projector) error {
	all, err := p.ProjectAll(c.Vectors())
	for i, z := range all {
		c.Records[i].Z = z
	}
	return err
}

func (c *Collection) Vectors() []*vector.Vector {
	return column(c, func(r *Record) *vector.Vector { return r.Vector })
}

func (c *Collection) Z() [][]int16 { return column(c, func(r *Record) []int16 { return r.Z }) }

func (c *Collection) Keywords() [][]string {
	return column(c, func(r *Record) []string { return r.Keywords })
}

func column[T any](c *Collection, of func(*Record) T) []T {
	out := make([]T, len(c.Records))
	for i := range c.Records {
		out[i] = of(&c.Records[i])
	}
	return out
}

// Reorder moves record order[i] to position i.
func (c *Collection) Reorder(order []uint32) {
	records := make([]Record, len(order))
	for i, from := range order {
		records[i] = c.Records[from]
	}
	c.Records = records
}

// ChunkBytes is the maximum size of a segment of vectors. A segment of this
// size is cheap to upload again after a broken connection, and 100,000 records
// need few files.
const ChunkBytes = 64 << 20

// A Writer writes segments into a folder and adds them to a manifest.
type Writer struct {
	// Dir is nil in a dry run, which measures segments and discards them.
	Dir      *indexdir.Writer
	Manifest *cpar.Manifest
	Progress progress.Func
}

// Keep removes all but the first n segments of a kind from the manifest.
func (w *Writer) Keep(kind cpar.SegmentKind, n int) {
	w.Manifest.Segments = slices.DeleteFunc(w.Manifest.Segments, func(s cpar.Segment) bool {
		if s.Kind == kind {
			n--
		}
		return s.Kind == kind && n < 0
	})
}

// DropLast removes the last segment of a kind from the manifest.
func (w *Writer) DropLast(kind cpar.SegmentKind) {
	n := 0
	for _, s := range w.Manifest.Segments {
		if s.Kind == kind {
			n++
		}
	}
	w.Keep(kind, n-1)
}

func (w *Writer) Segment(kind cpar.SegmentKind, write func(io.Writer) error) error {
	if w.Dir == nil {
		d := hashWriter{Hash: sha256.New()}
		if err := write(&d); err != nil {
			return err
		}
		w.Manifest.Segments = append(w.Manifest.Segments, cpar.Segment{Kind: kind, Bytes: d.bytes, Digest: cpar.Digest(d.Sum(nil))})
		return nil
	}
	sw, err := w.Dir.AddSegment(kind)
	if err != nil {
		return err
	}
	if err := write(sw); err != nil {
		sw.Abort()
		return err
	}
	s, err := sw.Close()
	if err != nil {
		return err
	}
	w.Manifest.Segments = append(w.Manifest.Segments, s)
	return nil
}

type hashWriter struct {
	hash.Hash
	bytes uint64
}

func (d *hashWriter) Write(p []byte) (int, error) {
	d.bytes += uint64(len(p))
	return d.Hash.Write(p)
}

// Activate atomically makes the written segments the index of the folder.
func (w *Writer) Activate() error {
	if w.Dir == nil {
		return w.Manifest.Validate()
	}
	return w.Dir.Activate(w.Manifest)
}

// Sort sorts the segments into the manifest's canonical order.
func (w *Writer) Sort() {
	slices.SortStableFunc(w.Manifest.Segments, func(a, b cpar.Segment) int { return cmp.Compare(a.Kind, b.Kind) })
}

func (w *Writer) Bytes(kind cpar.SegmentKind, b []byte) error {
	return w.Segment(kind, func(to io.Writer) error {
		_, err := to.Write(b)
		return err
	})
}

// A ReplyReader holds the secrets of one request. Read decodes the reply into
// the nearest records, nearest first. The reply is nil for a local search.
type ReplyReader interface {
	Read(a *cpar.Reply) ([]rank.Neighbour, error)
}

// A Twin is a plaintext index that answers requests as the encrypted index
// does. Function `trace`, if not nil, receives every visit.
type Twin interface {
	Search(request ReplyReader, trace func(kdforest.Visit)) ([]kdforest.Hit, error)
}

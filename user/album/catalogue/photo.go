// Package catalogue keeps one row for each photo of an album, and pins, the
// owner's record of the album's blobs.
//
//	rows, pins ─▶ segment ─zstd, padding, AES-256-GCM─▶ cpar-seg-RANDOM
//	segments   ─▶ generation ──────────────────────────▶ cpar-gen-NUMBER
//
// A segment adds rows, and replaces and removes rows of earlier segments. A commit
// writes a segment with its changes and then a generation that lists all segments,
// under a name that must be free. If the name is taken, the writer loads the
// generation of that name and commits its changes again. A commit merges recent
// small segments into its own, so that a generation lists few segments.
//
// Every commit records the digest of the generation before it, so a device notices
// if the server rolls back or forks the album.
package catalogue

import (
	"cmp"
	"crypto/sha256"
	"path"
	"slices"
	"strings"

	"cpar/photo/metadata"
)

type Photo struct {
	// Folder has slashes between its names, but not at its ends.
	Folder, Name string
	// Files lists the photo's own file first, then sidecars and other files.
	Files []File
	// Time is when the photo was taken, in seconds since 1970 as if the camera's
	// clock showed UTC, or 0.
	Time          int64
	Width, Height int
	// Orientation is the EXIF orientation from 1 to 8, or 0 if it is unknown.
	Orientation uint8
	Camera      string
	// Place is where the photo was taken, rounded as the owner chose, or nil.
	Place    *Place
	Keywords []Keyword
	// Content is the image's decode.ContentDigest, by which indexes recognise
	// photos. It is zero if an older program added the photo.
	Content [sha256.Size]byte
	// Trashed is when the photo moved to the trash, in nanoseconds since 1970, or 0.
	Trashed int64
}

type File struct {
	Name string
	Size int64
	// Modified is the file's time in nanoseconds since 1970.
	Modified int64
	Object   string // kopia's id of the contents
}

// A Place holds degrees times 10⁵, so that a unit is about a metre.
type Place struct{ Lat, Lon int32 }

type Source uint8

const (
	Human     Source = iota // entered by a person in the photo's files or manifest
	Accepted                // accepted or entered by a person in the album
	Suggested               // suggested by CPAR
)

func (s Source) String() string { return [...]string{"human", "accepted", "suggested"}[s] }

func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Keyword is a photo's keyword. Only suggestions have a Probability, in percent.
type Keyword struct {
	Word        string `json:"word"`
	Source      Source `json:"source"`
	Probability uint8  `json:"probability,omitempty"`
}

// A Key identifies a row. The trash may hold several photos of one path.
type Key struct {
	Path    string
	Trashed int64
}

func (p *Photo) Path() string { return path.Join(p.Folder, p.Name) }

func (p *Photo) Key() Key { return Key{p.Path(), p.Trashed} }

func (p *Photo) Size() (n int64) {
	for _, f := range p.Files {
		n += f.Size
	}
	return n
}

// Has reports whether the photo has a keyword, compared by metadata.Fold.
func (p *Photo) Has(word string) bool {
	return slices.ContainsFunc(p.Keywords, func(k Keyword) bool { return metadata.Fold(k.Word) == metadata.Fold(word) })
}

// SameFiles reports whether two rows have files of the same names and bytes.
func (p *Photo) SameFiles(o *Photo) bool {
	return slices.EqualFunc(p.Files, o.Files, func(a, b File) bool { return a.Name == b.Name && a.Object == b.Object })
}

func comparePhotos(a, b *Photo) int {
	return cmp.Or(strings.Compare(a.Folder, b.Folder), strings.Compare(a.Name, b.Name), cmp.Compare(a.Trashed, b.Trashed))
}

func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Trashed, b.Trashed))
}

// Package catalogue keeps one row for each photo of an album, and the owner's
// record of the album's blobs.
//
//	rows, pins ─▶ segment ─zstd, padding, AES-256-GCM─▶ cpar-seg-RANDOM
//	segments   ─▶ generation ──────────────────────────▶ cpar-gen-NUMBER
//
// Segments are append-only: a later one adds, replaces and removes rows of
// earlier ones. A commit writes a segment with its changes and then a generation
// that lists all segments, under a name that must be free. A writer that finds
// the name taken loads that generation and makes its changes again. Small
// segments at the end are merged into the new one, so a generation lists few.
//
// Every generation records the digest of its parent, so a device notices a server
// that rolls back or forks, as for indexes.
package catalogue

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cpar/photo/metadata"
)

// A Photo is a row of the catalogue.
type Photo struct {
	// Folder is separated by slashes, without one at either end.
	Folder, Name string
	// Files holds the photo and then its sidecars and other files.
	Files []File
	// Time is when the photo was taken, in seconds since 1970 as if the camera's
	// clock showed UTC, or 0.
	Time          int64
	Width, Height int
	// Orientation is EXIF's, from 1 to 8, or 0.
	Orientation uint8
	Camera      string
	// Place is where the photo was taken, rounded as the owner chose, or nil.
	Place    *Place
	Keywords []Keyword
	// Trashed is when the photo was moved to the trash, in nanoseconds since
	// 1970, or 0.
	Trashed int64
}

// A File is a file in the repository.
type File struct {
	Name string
	Size int64
	// Modified is in nanoseconds since 1970.
	Modified int64
	Object   string
}

// A Place is in units of 10⁻⁵ degrees, about a metre.
type Place struct{ Lat, Lon int32 }

// A Source tells who gave a photo a keyword.
type Source uint8

const (
	Human     Source = iota // a person
	Accepted                // CPAR, and a person has accepted it
	Suggested               // CPAR
)

func (s Source) String() string { return [...]string{"human", "accepted", "suggested"}[s] }

func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Keyword is a keyword of a photo. Probability is in percent, for suggestions.
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

// Path returns the path of the photo in the album.
func (p *Photo) Path() string { return path.Join(p.Folder, p.Name) }

func (p *Photo) Key() Key { return Key{p.Path(), p.Trashed} }

// Size returns the number of bytes of all files.
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

// SameFiles reports whether two rows have the same files with the same bytes.
func (p *Photo) SameFiles(o *Photo) bool {
	return slices.EqualFunc(p.Files, o.Files, func(a, b File) bool { return a.Name == b.Name && a.Object == b.Object })
}

func comparePhotos(a, b *Photo) int {
	return cmp.Or(strings.Compare(a.Folder, b.Folder), strings.Compare(a.Name, b.Name), cmp.Compare(a.Trashed, b.Trashed))
}

func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Trashed, b.Trashed))
}

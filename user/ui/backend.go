// Package ui serves a web page on the owner's machine for reviewing and writing
// keywords. With Options.Album, the page shows an album instead (album.go).
//
//	browser ─ token ─▶ Server ─▶ Backend ─▶ the library, and an index at a cloud
//	           │         │
//	           │         └ os.Root of each folder: photos, by opaque ids
//	           └ in the URL fragment, which browsers do not send
//
// The page is embedded in the program, and the content security policy limits
// the browser to this server. A client with the token can view photos below the
// opened folders, write keywords, undo runs, and change the vocabulary of the
// index. The comment of guard (guard.go) lists the refused requests.
//
// Decisions wait in memory until the user writes them. Each write changes the
// photo's metadata in a run that can be undone.
package ui

import (
	"context"

	"cpar"
	"cpar/internal/leakage"
	"cpar/model/rank"
	"cpar/user/library"
	"cpar/user/vocabulary"
)

// A Backend performs the owner's operations for the page. It must be safe for
// concurrent use. All paths passed to it come from Photos.
type Backend interface {
	Settings() Settings
	Choose(Choice) error
	// Photos lists the photos below the folders. Result `skipped` describes
	// the other files, or is "".
	Photos(ctx context.Context) (paths []string, skipped string, err error)
	// Skipped lists the files that Photos left out, except sidecars, system
	// files and hidden files.
	Skipped() []leftOut
	// Locate returns a function that maps a photo's content digest to its
	// records in the index. The function is nil if there is no index.
	Locate(ctx context.Context) (func(content [32]byte) []uint32, error)
	// Content returns the content digest of a photo if it is known without
	// reading the file.
	Content(path string) (content [32]byte, ok bool)
	Vocabulary() []string
	// Rules returns the owner's vocabulary, and the reason if the page cannot change
	// it.
	Rules() (v *vocabulary.Vocabulary, fixed string)
	// SetRules replaces the vocabulary, and UndoRules restores the previous one.
	// Both push a new generation of the index.
	SetRules(ctx context.Context, v *vocabulary.Vocabulary) error
	UndoRules(ctx context.Context) error
	// Look returns a photo's keywords and stored answer, and sends nothing.
	Look(path string) (*Known, error)
	// Annotate annotates photos and returns the answers obtained, in order. It
	// fails if the cloud fails or ctx ends.
	Annotate(ctx context.Context, paths []string) ([]Answer, error)
	// AnnotateData annotates a photo outside the folders.
	AnnotateData(ctx context.Context, data []byte) (Answer, error)
	// LookData reads the keywords of a photo outside the folders.
	LookData(name string, data []byte) (*Known, error)
	// Sidecar returns the sidecar of a photo outside the folders after
	// decision d.
	Sidecar(name string, data []byte, k *Known, d Decision) ([]byte, error)
	// Write writes changes as one run and returns the results obtained, in order.
	Write(ctx context.Context, list []Change) ([]library.Result, error)
	// Runs lists the runs, newest first.
	Runs() ([]library.Run, error)
	Undo(ctx context.Context, id string) (*Undone, error)
	Find(ctx context.Context, word string) ([]string, error)
}

type Settings struct {
	Index     string `json:"index"`   // name or id
	Records   int    `json:"records"` // photos with keywords
	Scheme    string `json:"scheme"`
	Protects  string `json:"protects"`
	Profile   string `json:"profile"`
	Cloud     string `json:"cloud"`
	Threshold int    `json:"threshold"` // minimum probability of a likely keyword in percent
	Right     int    `json:"right"`     // value of --right in percent, 0 if --min-probability decides
	KeepMtime bool   `json:"keep_mtime"`
	Where     string `json:"where"` // sidecar or embedded
	Style     string `json:"style"`
	// Own is set if there is no index. Suggestions then come from the image
	// network's own vocabulary.
	Own bool `json:"own"`

	limit float64 // the threshold, not rounded
}

// A Choice changes settings. A nil field leaves its setting unchanged.
type Choice struct {
	Right     *int    `json:"right,omitempty"` // in percent
	Where     *string `json:"where,omitempty"`
	Style     *string `json:"style,omitempty"`
	KeepMtime *bool   `json:"keep_mtime,omitempty"`
}

type Known struct {
	Yours    []string // entered by people
	Machine  []string // written by a run, not yet accepted
	Rejected []string
	Problems []string // unreadable metadata
	// Asked reports whether there is an answer. Its suggestions are in Keywords,
	// best first.
	Asked    bool
	Keywords []rank.Keyword
	Near     []rank.Neighbour
}

type Answer struct {
	Keywords  []rank.Keyword
	Near      []rank.Neighbour
	CloudView *CloudView // nil if nothing was sent
	Err       error
}

// CloudView describes a cloud's observations of a request.
type CloudView struct {
	Scheme       string                `json:"scheme"`
	Observations []leakage.Observation `json:"parts"`
	Learnt       string                `json:"learnt"`
	Sent         int                   `json:"sent"`     // bytes including protocol overhead
	Received     int                   `json:"received"` // bytes of the reply
	Visited      int                   `json:"visited"`  // number of records scored
	Bytes        int                   `json:"bytes"`    // length of the request
	// Start holds the first bytes of the request.
	Start []byte `json:"start"`

	scheme cpar.Scheme
}

type Decision struct {
	Accept, Reject, Add []string
}

// A Change is a decision to write to a photo. If Likely is set, likely
// suggestions without a decision are written as machine keywords.
type Change struct {
	Path string
	Decision
	Likely bool
}

type Written struct {
	Run     string   `json:"run"`
	File    string   `json:"file"` // base name of the last changed file, or ""
	Added   []string `json:"added"`
	Files   int      `json:"files"`
	Photos  int      `json:"photos"`
	Failed  []Failed `json:"failed"`
	Pending pending  `json:"pending"`
}

// Failed is a photo that could not be written. Its decision stays pending.
type Failed struct {
	Name  string `json:"name"`
	Error string `json:"error"`
	err   error
}

type Undone struct {
	Restored  int      `json:"restored"`  // files restored byte for byte
	Retracted int      `json:"retracted"` // later changed files, which lost only the run's keywords
	Left      int      `json:"left"`      // files that could not be changed
	Paths     []string `json:"-"`         // paths of the photos
}

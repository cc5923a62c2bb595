// Package ui is a page on the owner's own machine: photos in, keywords decided on and written.
//
//	browser ─ token ─▶ Server ─▶ Backend ─▶ the library, and an index at a cloud
//	           │         │
//	           │         └ os.Root of each folder: photos, by ids that name nothing
//	           └ in the address's fragment, which no server is sent
//
// The page and all it needs are in the program; the browser talks to this server and to nobody
// else, which its content-security policy enforces. Whoever has the token may do what the
// page can: see photos below the opened folders and write keywords beside them. guard.go says who
// is refused, SECURITY.md against whom that helps.
//
// What a person decides waits here, in memory, until they write; then it goes into the
// photo's metadata as one run, which can be undone.
package ui

import (
	"context"
	"time"

	"cpar"
	"cpar/internal/leakage"
	"cpar/model/rank"
)

// A Backend is the owner's side as the page needs it. Its methods may be called from several
// goroutines at once. Paths are of files below the opened folders, as Photos gave them.
type Backend interface {
	// Settings are what is in force.
	Settings() Settings
	// Photos lists the photos below the folders, and says how many files are none.
	Photos(ctx context.Context) (*Listing, error)
	// Look reads what is known of a photo, without asking anybody.
	Look(path string) (*Known, error)
	// Annotate asks about photos and returns an answer for each that was asked, in order. The
	// error is the cloud's or the person's, not a photo's.
	Annotate(ctx context.Context, paths []string) ([]Answer, error)
	// AnnotateData is Annotate for a photo that is in no folder.
	AnnotateData(ctx context.Context, data []byte) (Answer, error)
	// LookData reads such a photo's keywords; Sidecar is what would be written beside it.
	LookData(name string, data []byte) (*Known, error)
	Sidecar(name string, data []byte, k *Known, d Decision) ([]byte, error)
	// Write writes a decision, and the keywords that were suggested, as one run.
	Write(ctx context.Context, path string, d Decision) (*Written, error)
	// Runs are what was written, the newest first; Undo takes one back.
	Runs() ([]Run, error)
	Undo(ctx context.Context, id string) (*Undone, error)
	// Find lists photos that have a keyword.
	Find(ctx context.Context, word string) ([]string, error)
}

// Settings are what is in force, for a person to read.
type Settings struct {
	Index     string `json:"index"` // its name, or its id
	Records   int    `json:"records"`
	Scheme    string `json:"scheme"`
	Protects  string `json:"protects"`
	Profile   string `json:"profile"`
	Cloud     string `json:"cloud"`
	Threshold int    `json:"threshold"` // in percent: what is at least so probable is sure
	Where     string `json:"where"`     // sidecar or embedded
	Style     string `json:"style"`
}

// A Listing is what lies below the folders.
type Listing struct {
	Paths []string
	// Skipped says how many files are no photos, and why; "" if none.
	Skipped string
}

// Known is what is known of a photo.
type Known struct {
	Yours    []string // keywords that people gave it
	Machine  []string // that were written by a run and nobody has accepted
	Rejected []string
	Problems []string // what could not be read
	// Asked is whether it was asked about; Keywords are then what was suggested, best
	// first.
	Asked    bool
	Keywords []rank.Keyword
	Near     []rank.Neighbour
}

// An Answer is what came of asking about a photo.
type Answer struct {
	Keywords  []rank.Keyword
	Near      []rank.Neighbour
	CloudView *CloudView // nil where nothing was sent
	Err       error
}

// Saw is what a cloud saw of a photo.
type CloudView struct {
	Scheme       string                `json:"scheme"`
	Observations []leakage.Observation `json:"parts"`
	Learnt       string                `json:"learnt"`
	Sent         int                   `json:"sent"`     // bytes, with what carries them
	Received     int                   `json:"received"` // by this machine
	Visited      int                   `json:"visited"`  // records
	Bytes        int                   `json:"bytes"`    // of the request
	// Start is the beginning of the request as it was sent.
	Start []byte `json:"start"`

	scheme cpar.Scheme
}

// A Decision is what a person says of a photo's keywords.
type Decision struct {
	Accept, Reject, Add []string
}

// Written is what a write has done.
type Written struct {
	Run   string   `json:"run"`
	File  string   `json:"file"` // base name of the file that was changed; "" if nothing would have changed
	Added []string `json:"added"`
}

// A Run is one that wrote.
type Run struct {
	ID       string    `json:"id"`
	Began    time.Time `json:"began"`
	Command  string    `json:"command"`
	Files    int       `json:"files"`
	Keywords int       `json:"words"`
	Undone   bool      `json:"undone"`
	// Forgotten: it is too long ago to be undone.
	Forgotten bool `json:"forgotten"`
}

// Undone is how a run was taken back.
type Undone struct {
	Restored  int `json:"restored"`  // files that are as they were, byte for byte
	Retracted int `json:"retracted"` // that had changed since: only the run's keywords went
	Left      int `json:"left"`      // that could not be changed
}

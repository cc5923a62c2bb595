// Package version identifies the build of a program.
//
//	build info ─▶ Info ─▶ cpar v1.2.3 (0123456789ab, 2026-11-25), format 3, go1.26.0 linux/amd64
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"cpar"
)

// Script release/build sets these variables, because the stamps of the go
// command also depend on the tags of the checkout.
var number, revision, date string

type Info struct {
	Program  string `json:"program"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the repository, empty if unknown
	Date     string `json:"date,omitempty"`     // of the revision, in UTC (RFC 3339)
	Modified bool   `json:"modified,omitempty"` // built with uncommitted changes
	Format   int    `json:"format"`             // of indexes and messages
	Go       string `json:"go"`
	System   string `json:"system"`
}

func Of(program string) Info {
	i := Info{Program: program, Version: "unknown", Format: cpar.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		i.read(build)
	}
	i.Version, i.Revision, i.Date = cmp.Or(number, i.Version), cmp.Or(revision, i.Revision), cmp.Or(date, i.Date)
	return i
}

func (i *Info) read(build *debug.BuildInfo) {
	if build.Main.Version != "" {
		i.Version = strings.TrimSuffix(build.Main.Version, "+dirty")
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.time":
			i.Date = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
}

// String returns the line that version and --version print.
func (i Info) String() string {
	revision := "no revision"
	if i.Revision != "" {
		revision = i.Revision[:min(12, len(i.Revision))]
	}
	if day, _, ok := strings.Cut(i.Date, "T"); ok {
		revision += ", " + day
	}
	if i.Modified {
		revision += ", modified"
	}
	return fmt.Sprintf("%s %s (%s), format %d, %s %s", i.Program, i.Version, revision, i.Format, i.Go, i.System)
}

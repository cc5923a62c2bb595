package version

import (
	"runtime/debug"
	"testing"
)

func TestString(t *testing.T) {
	i := Info{Program: "cpar", Version: "unknown", Format: 2, Go: "go1.26.0", System: "linux/amd64"}
	if got, want := i.String(), "cpar unknown (no revision), format 2, go1.26.0 linux/amd64"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	i.read(&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3+dirty"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-11-25T20:51:00Z"}, {Key: "vcs.modified", Value: "true"}}})
	if got, want := i.String(), "cpar v1.2.3 (0123456789ab, 2026-11-25, modified), format 2, go1.26.0 linux/amd64"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if here := Of("cpard"); here.Program != "cpard" || here.Go == "" || here.System == "" || here.Format == 0 {
		t.Errorf("this build is %+v", here)
	}
}

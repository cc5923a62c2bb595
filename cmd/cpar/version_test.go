package main

import (
	"strings"
	"testing"

	"cpar/internal/version"
)

func TestCheckedVersionSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		have, latest string
		outdated     bool
		says         string
	}{
		{"v1.2.3", "v1.10.0", true, "there is a newer version: v1.10.0"},
		{"v1.2.3", "v1.2.3", false, "this is the newest version"},
		{"v1.3.0", "v1.2.3", false, "this is the newest version"},
		{"v1.2.3-rc.1", "v1.2.3", true, "there is a newer version: v1.2.3"},
		{"v0.0.0-20261125205100-0123456789ab", "v0.1.0", true, "there is a newer version: v0.1.0"},
		{"(devel)", "v1.2.3", false, "this build has no version number; the newest version is v1.2.3"},
	} {
		r := compared(version.Info{Version: c.have}, published{Version: c.latest})
		var out strings.Builder
		r.print(&out)
		if r.Outdated != c.outdated || !strings.HasSuffix(out.String(), "\n"+c.says+"\n") {
			t.Errorf("%s with %s: outdated %t, %s", c.have, c.latest, r.Outdated, &out)
		}
	}
}

package indexdir

import (
	"os"
	"path/filepath"
	"testing"
)

// Limits of both versions count, at the process's group and above it.
func TestUnusedByGroups(t *testing.T) {
	const unlimited = "9223372036854771712"
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   uint64
	}{
		"version 2":              {"0::/a/b\n", map[string]string{"a/b/memory.max": "max", "a/b/memory.current": "10", "a/memory.max": "500", "a/memory.current": "100"}, 400},
		"version 2, container":   {"0::/\n", map[string]string{"memory.max": "300", "memory.current": "100"}, 200},
		"version 2, more in use": {"0::/\n", map[string]string{"memory.max": "300", "memory.current": "301"}, 0},
		"version 1": {"5:cpu,cpuacct:/\n4:memory:/a\n0::/\n", map[string]string{"memory/a/memory.limit_in_bytes": "700", "memory/a/memory.usage_in_bytes": "100",
			"memory/memory.limit_in_bytes": unlimited, "memory/memory.usage_in_bytes": "9000"}, 600},
		"version 1, container": {"4:memory,hugetlb:/docker/1a2b\n", map[string]string{"memory/memory.limit_in_bytes": "800", "memory/memory.usage_in_bytes": "100"}, 700},
		"no limit":             {"0::/a\n4:memory:/\n", nil, 1<<64 - 1},
		"no groups":            {"", nil, 1<<64 - 1},
	} {
		folder := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(folder, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := unusedByGroups(c.groups, folder); got != c.want {
			t.Errorf("%s: %d bytes unused, want %d", name, got, c.want)
		}
	}
}

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/store"
)

func TestDamagedIsCounted(t *testing.T) {
	album, damaged := store.Info{Album: "1"}, store.Info{Album: "1", Err: cpar.ErrCorrupt}
	for want, all := range map[string][]store.Info{
		"damaged data: the only index; its owner must push it again":                                              {{}},
		"damaged data: 1 of 3 indexes; their owners must push them again":                                         {{}, {}, {}},
		"damaged data: 1 of 1 index and 1 album; their owners must push them again":                               {{}, album},
		"damaged data: 1 of 0 indexes and 2 albums; owners must push indexes again, and blobs come from a backup": {album, damaged},
	} {
		if got := errDamaged(1, all).Error(); got != want {
			t.Errorf("1 of %d: %s", len(all), got)
		}
	}
}

// The blob was deleted years ago, but only the server knows how long it keeps
// deleted blobs.
func TestGCPurgesOnlyWhenAsked(t *testing.T) {
	data := t.TempDir()
	const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	id, key := strings.Repeat("1", 32), strings.Repeat("0", 20)+"-a"
	blob := filepath.Join(data, "albums", id, "p."+sum+"."+key)
	log := []string{
		`"put":{"sha256":"` + sum + `","bytes":0,"put":"2020-01-01T00:00:00Z","key":"` + key + `","live":null}`,
		`"delete":true`,
	}
	files := map[string]string{blob: "", filepath.Join(data, "indexes", "x"): ""}
	for i, event := range log {
		text := fmt.Sprintf(`{"version":1,"event":{"at":"2020-01-0%dT00:00:00Z","album":"%s","name":"p",%s}}`, i+1, id, event)
		files[filepath.Join(data, "albums", "log", fmt.Sprintf("%020d", i+1))] = fmt.Sprintf("%s\n%x\n", text, sha256.Sum256([]byte(text)))
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		flags []string
		want  string
	}{
		{nil, "nothing to remove\n"},
		{[]string{"--keep-deleted", "720h"}, "removed 0 segments of 0 indexes, 0 of them never activated, 1 deleted blobs, and 0 remains of interrupted writes: 0 B\n"},
	} {
		var out strings.Builder
		c := newRoot()
		c.SetArgs(append([]string{"gc", "--data", data, "--config", "none"}, x.flags...))
		c.SetOut(&out)
		if err := c.Execute(); err != nil || out.String() != x.want {
			t.Errorf("gc %v: %q, %v", x.flags, out.String(), err)
		}
	}
}

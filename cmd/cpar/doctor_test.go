package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/user"
	"cpar/user/device"
)

// A patient is a device for cpar doctor to examine, with a cloud whose answers
// the test sets.
type patient struct {
	t      *testing.T
	folder string
	key    string
	ring   string
	free   int64
	told   bool
	date   time.Time
	format int
}

func newPatient(t *testing.T) *patient {
	folder := t.TempDir()
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME"} {
		t.Setenv(name, filepath.Join(folder, strings.ToLower(name)))
	}
	p := &patient{t: t, folder: folder, key: filepath.Join(folder, "key"), ring: t.TempDir(), free: 1 << 40, told: true, date: time.Now(), format: cpar.Version}
	if err := user.NewKey().WriteFile(p.key, ""); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", p.date.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", cparhttp.TypeJSON)
	switch r.URL.Path {
	case cparhttp.PathHealth:
		json.NewEncoder(w).Encode(cparhttp.Health{Status: "ok", Format: p.format})
	case cparhttp.PathToken:
		json.NewEncoder(w).Encode(cparhttp.TokenInfo{})
	case cparhttp.PathIndexes:
		json.NewEncoder(w).Encode(cparhttp.IndexList{Indexes: []cparhttp.IndexInfo{}})
	}
}

func (p *patient) look() (by map[string]string, err error) {
	p.t.Helper()
	cloud := httptest.NewServer(p)
	defer cloud.Close()
	defer func(before device.Keyring) { ring = before }(ring)
	ring = storyKeyring(p.ring)
	d := doctorFlags{free: func(string) (int64, bool) { return p.free, p.told }}
	d.cloud.add(&cobra.Command{})
	d.keys.path, d.keys.cmd, d.cloud.url = p.key, &cobra.Command{}, cloud.URL
	d.run(p.t.Context())
	by = map[string]string{}
	for _, f := range d.findings {
		by[f.Check] += f.Result + " " + f.Says + " / " + f.Do + "\n"
	}
	return by, d.findings.Err()
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*patient)
		says  map[string][]string // by check, texts in any of its findings
		code  int
	}{
		{"nothing", func(*patient) {}, map[string][]string{
			"formats": {"ok version 5 here and at the cloud"}, "clock": {"ok as the cloud's"}, "keyring": {"ok available, but does not open this key file"},
			"space": {"ok 1099512 MB are free for the state folder", "for the cache folder"}}, 0},
		{"a cloud that is late", func(p *patient) { p.date = p.date.Add(-time.Hour) }, map[string][]string{"clock": {"warn the cloud's differs by -1h0m", "set the clock"}}, 0},
		{"a cloud that is early", func(p *patient) { p.date = p.date.Add(time.Hour) }, map[string][]string{"clock": {"warn the cloud's differs by "}}, 0},
		{"an old cloud", func(p *patient) { p.format-- }, map[string][]string{
			"formats": {"fail unknown format version: version 5 here, and 4 at the cloud", "update the cloud's cpard"}}, exitcode.Version},
		{"a new cloud", func(p *patient) { p.format++ }, map[string][]string{"formats": {"and 6 at the cloud", "update this program"}}, exitcode.Version},
		{"little space", func(p *patient) { p.free = 99_000_000 }, map[string][]string{
			"space": {"warn 99 MB are free for the state folder, which should have 100 MB", "warn 99 MB are free for the cache folder, which should have 1000 MB", "free some space on the disk of"}}, 0},
		{"enough for the state", func(p *patient) { p.free = 500_000_000 }, map[string][]string{"space": {"ok 500 MB are free for the state folder", "warn 500 MB are free for the cache"}}, 0},
		{"a silent system", func(p *patient) { p.told = false }, map[string][]string{"space": {"warn the system does not say"}}, 0},
		{"no keyring", func(p *patient) { os.Remove(p.ring) }, map[string][]string{"keyring": {"ok none is there, and none is needed"}}, 0},
		{"remembered", remember, map[string][]string{"keyring": {"ok it opens "}, "key": {"ok ", "allows sealed, local"}}, 0},
		{"remembered, and the keyring is gone", func(p *patient) { remember(p); os.RemoveAll(p.ring) }, map[string][]string{
			"keyring": {"warn it should open ", "does not answer"}, "key": {"note ", "was not opened"}}, 0},
		{"remembered, and forgotten by the keyring", func(p *patient) { remember(p); os.RemoveAll(p.ring); os.Mkdir(p.ring, 0o700) }, map[string][]string{"keyring": {"no longer holds the secret"}}, 0},
		{"a key for all", func(p *patient) { os.Chmod(p.key, 0o644) }, map[string][]string{"key": {"warn others may read ", "chmod 600 "}}, 0},
		{"folders for all", func(p *patient) { os.MkdirAll(filepath.Join(p.folder, "xdg_state_home", "cpar"), 0o755) }, map[string][]string{"state": {"ok ", "warn others may read ", "chmod 700 "}}, 0},
		{"another key", replaceKey, map[string][]string{"key": {"fail ", "it holds another key than before", "someone may have replaced it"}}, exitcode.Key},
		{"no key", func(p *patient) { os.Remove(p.key) }, map[string][]string{"keyring": {"ok available"}, "key": {"fail ", "on your first device only, make one with cpar init"}}, exitcode.Key},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(c.name, "for all") {
				t.Skip("permissions of Unix")
			}
			p := newPatient(t)
			c.spoil(p)
			by, err := p.look()
			for check, all := range c.says {
				for _, says := range all {
					if !strings.Contains(by[check], says) {
						t.Errorf("%s says %q, not %q", check, by[check], says)
					}
				}
			}
			if code := exitcode.Of(err); code != c.code {
				t.Errorf("exit code %d of %v, want %d", code, err, c.code)
			}
		})
	}
}

func replaceKey(p *patient) {
	p.t.Helper()
	this, err := device.This()
	if err == nil {
		_, err = this.ReadKey(p.key, user.Unlock{})
	}
	err = errors.Join(err, os.Remove(p.key), user.NewKey().WriteFile(p.key, ""))
	if err != nil {
		p.t.Fatal(err)
	}
}

func remember(p *patient) {
	p.t.Helper()
	os.Remove(p.key)
	err := user.NewKey().WriteFile(p.key, "open sesame")
	this, e := device.This()
	if err = errors.Join(err, e); err == nil {
		how := user.Unlock{Passphrase: func() (string, error) { return "open sesame", nil }}
		err = this.Remember(p.t.Context(), storyKeyring(p.ring), p.key, how)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

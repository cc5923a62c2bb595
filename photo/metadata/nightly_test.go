package metadata

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func wanted(t *testing.T, env string, programs ...string) {
	t.Helper()
	if os.Getenv(env) != "required" {
		t.Skipf("set %s=required, as .ci/nightly does; needs %s", env, strings.Join(programs, ", "))
	}
	for _, p := range programs {
		tool(t, p, env)
	}
}

// library returns photos with keywords of every origin, and the hierarchy to
// find in each.
func library(t *testing.T) (folder string, want map[string][]string) {
	folder = t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	plain := plainJPEG(t)
	tagged := withSegments(plain, xmpSegment(packetOf(describe([]string{"dc:subject", "mine", "Rome"}, []string{"lr:hierarchicalSubject", "Places|Rome"}))))
	for name, data := range map[string][]byte{"new.jpg": plain, "tagged.jpg": tagged, "embedded.jpg": tagged, "foreign.jpg": plain, "judged.jpg": plain} {
		put(t, at(name), append(data[:len(data):len(data)], name...)) // all different
	}
	put(t, at("foreign.jpg.xmp"), []byte(foreign["as darktable"]))
	put(t, at("embedded.jpg"), tagged)
	c := Change{Suggest: []string{"sky", "Küste"}, Run: "r1"}
	for _, name := range []string{"new.jpg", "tagged.jpg", "foreign.jpg", "judged.jpg"} {
		do(t, at(name), Sidecar, Follow, c)
	}
	do(t, at("embedded.jpg"), Embedded, Follow, c)
	do(t, at("judged.jpg"), Sidecar, Follow, Change{Accept: []string{"sky"}, Reject: []string{"Küste"}, Add: []string{"boat"}})
	auto := []string{"auto|sky", "auto|Küste"}
	return folder, map[string][]string{
		"new.jpg":      auto,
		"tagged.jpg":   append([]string{"Places|Rome", "mine"}, auto...),
		"embedded.jpg": append([]string{"Places|Rome"}, auto...),
		"foreign.jpg":  append([]string{"Things|mine"}, auto...),
		"judged.jpg":   {"sky", "boat"},
	}
}

func compare(t *testing.T, name string, got, want []string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: %q is not among %q", name, w, got)
		}
	}
	for _, g := range got {
		if strings.HasPrefix(g, autoRoot+"|") && !slices.Contains(want, g) {
			t.Errorf("%s: %q is more than %q", name, g, want)
		}
	}
}

func TestDarktable(t *testing.T) {
	wanted(t, "CPAR_DARKTABLE", "darktable-cli", "sqlite3", "exiftool")
	folder, want := library(t)
	for name, tags := range want {
		state, out := t.TempDir(), filepath.Join(t.TempDir(), "out.jpg")
		args := []string{filepath.Join(folder, name)}
		if sidecar := args[0] + ".xmp"; name != "embedded.jpg" {
			args = append(args, sidecar)
		}
		run(t, "darktable-cli", append(args, out, "--core", "--library", filepath.Join(state, "library.db"),
			"--configdir", state, "--cachedir", state, "--disable-opencl")...)
		found := run(t, "sqlite3", filepath.Join(state, "data.db"), "attach '"+filepath.Join(state, "library.db")+"' as l;",
			"select name from tags join l.tagged_images on tagid = tags.id")
		compare(t, name, strings.Fields(found), tags)

		// The export, which lists roots, teaches no more than the original.
		before, now := read(t, filepath.Join(folder, name)), read(t, out)
		roots := newWordSet("Places", "Things", "darktable", "format", "jpg")
		for _, w := range now.Human {
			if !slices.ContainsFunc(before.Human, sameWord(w)) && !roots.has(w) {
				t.Errorf("%s: its export has %q, a person gave %q", name, now.Human, before.Human)
			}
		}
		old := fields(t, out)
		e := do(t, out, Embedded, Append, Change{Suggest: []string{"zebra"}, Run: "r2"})
		kept := fields(t, out)
		for k, v := range old {
			if got := texts(kept[k]); strings.HasPrefix(k, "XMP-darktable:") && !slices.Equal(got, texts(v)) {
				t.Errorf("%s: %s was %v, is %v", name, k, v, got)
			}
		}
		if err := e.Undo().Apply(false); err != nil {
			t.Error(err)
		}
	}
}

// digiKam has no command line, so it runs on a virtual screen.
func TestDigiKam(t *testing.T) {
	wanted(t, "CPAR_DIGIKAM", "digikam", "xvfb-run", "dbus-run-session", "sqlite3")
	folder, want := library(t)
	home := t.TempDir()
	base := filepath.Join(home, "digikam4.db")
	if err := os.MkdirAll(filepath.Join(home, ".config"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, ".config", "digikamrc"), []byte("[General Settings]\nVersion=7.9.0\n\n[Metadata Settings]\nUse XMP Sidecar For Reading=true\n\n[Album Settings]\nScan At Start=true\n"))
	query := func(q string) string {
		out, _ := exec.Command("sqlite3", base, q).Output() // it may be locked or missing
		return strings.TrimSpace(string(out))
	}
	until := func(what string, done func() bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "xvfb-run", "-a", "-s", "-screen 0 1280x1024x24 +extension GLX", "dbus-run-session", "--", "digikam", "--database-directory", home)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_DATA_HOME="+home,
			"LIBGL_ALWAYS_SOFTWARE=1", "QTWEBENGINE_DISABLE_SANDBOX=1", "QTWEBENGINE_CHROMIUM_FLAGS=--no-sandbox --disable-gpu")
		endTogether(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for ctx.Err() == nil && !done() {
			time.Sleep(time.Second)
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("digikam did not get to %s", what)
		}
		cmd.Cancel()
		cmd.Wait()
	}
	until("making its database", func() bool { return query("select count(*) from Settings where keyword = 'Locale'") == "1" })
	query("insert into AlbumRoots(label, status, type, identifier, specificPath) values('photos', 0, 1, 'volumeid:?path=" + folder + "', '/')")
	count := func() string { return query("select count(distinct imageid) from ImageTags") }
	until("reading the photos", func() bool { return count() == "5" })

	for name, tags := range want {
		rows := query("with recursive place(id, path) as (select id, name from Tags where pid = 0 union all " +
			"select Tags.id, place.path || '|' || Tags.name from Tags join place on Tags.pid = place.id) " +
			"select path from ImageTags join place on tagid = place.id join Images on imageid = Images.id where Images.name = '" + name + "'")
		got := strings.Split(rows, "\n")
		// digiKam maps a tag without a path to an existing tag of the same
		// name.
		if i := slices.Index(got, "auto|sky"); i >= 0 && name == "judged.jpg" {
			got[i] = "sky"
		}
		compare(t, name, got, tags)
	}
}

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar/internal/testing/oracle"
	"cpar/photo/dataset"
)

type home struct {
	t    *testing.T
	dir  string
	tree string
	url  string
	log  string
}

func newHome(t *testing.T, learnFrom []dataset.Photo) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	h.tree = filepath.Join(h.dir, "tree")
	h.log = filepath.Join(h.dir, "cloud.log")
	learn := filepath.Join(h.dir, "learn")
	var items []dataset.Photo
	for _, it := range learnFrom {
		h.link(it.Path, filepath.Join(learn, filepath.Base(it.Path)))
		items = append(items, dataset.Photo{Name: filepath.Base(it.Path), Keywords: it.Keywords})
	}
	if err := dataset.WriteManifestFile(learn, items); err != nil {
		t.Fatal(err)
	}
	h.cpar(0, "init", "--key", "k", "--no-passphrase")
	h.cpar(0, "build", "learn", "--key", "k", "--out", "index", "--profile", "learned", "--cache=")
	cloud := h.command("cpard", "-data", filepath.Join(h.dir, "cloud"))
	logged, err := os.Create(h.log)
	if err != nil {
		t.Fatal(err)
	}
	cloud.Stderr = logged
	out, err := cloud.StdoutPipe()
	if err == nil {
		err = cloud.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Process.Kill(); _ = cloud.Wait(); _ = logged.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("the cloud says %q, %v", line, err)
	}
	h.url = url
	h.cpar(0, "push", "index", "--cloud", url)
	return h
}

func (h *home) link(from, to string) {
	h.t.Helper()
	err := os.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = os.Link(from, to)
	}
	if err != nil { // different file systems
		err = os.Symlink(from, to)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) command(name string, args ...string) *exec.Cmd {
	h.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_CACHE_HOME="+h.dir+"/.cache", "XDG_CONFIG_HOME="+h.dir+"/.config", "XDG_STATE_HOME="+h.dir+"/.state",
		"CPAR_KEY="+filepath.Join(h.dir, "k"), "CPAR_CLOUD="+h.url)
	return cmd
}

func (h *home) cpar(code int, args ...string) (stdout, stderr []byte) {
	h.t.Helper()
	cmd := h.command("cpar", args...)
	var out, notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &notes
	err := cmd.Run()
	got := 0
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		got, err = e.ExitCode(), nil
	}
	if err != nil || got != code {
		h.t.Fatalf("cpar %s: exit code %d, want %d; %v\n%s", strings.Join(args, " "), got, code, err, notes.Bytes())
	}
	return out.Bytes(), notes.Bytes()
}

func (h *home) write(name string, b []byte) {
	h.t.Helper()
	path := filepath.Join(h.tree, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) files(each func(path string)) {
	h.t.Helper()
	err := filepath.WalkDir(h.tree, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			each(path)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) digest() string {
	h.t.Helper()
	all := sha256.New()
	h.files(func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		fmt.Fprintf(all, "%s %x\n", path, sha256.Sum256(b))
	})
	return fmt.Sprintf("%x", all.Sum(nil))
}

func (h *home) sidecars() map[string]bool {
	h.t.Helper()
	out := map[string]bool{}
	h.files(func(path string) {
		if filepath.Ext(path) != ".xmp" {
			return
		}
		out[path] = true
		f, err := os.Open(path)
		if err != nil {
			h.t.Fatal(err)
		}
		defer f.Close()
		for d := xml.NewDecoder(f); err == nil; {
			_, err = d.Token()
		}
		if err != io.EOF {
			h.t.Errorf("%s is not whole: %v", path, err)
		}
	})
	return out
}

func (h *home) questions() int {
	h.t.Helper()
	b, err := os.ReadFile(h.log)
	if err != nil {
		h.t.Fatal(err)
	}
	return bytes.Count(b, []byte("/annotate"))
}

func (h *home) annotated(lines []byte) map[string]annotated {
	h.t.Helper()
	out := map[string]annotated{}
	for line := range bytes.Lines(lines) {
		var a annotated
		if err := json.Unmarshal(line, &a); err != nil {
			h.t.Fatal(err)
		}
		out[filepath.Join(h.dir, a.Photo)] = a
	}
	return out
}

const theirs = `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4">
   <dc:subject><rdf:Bag><rdf:li>Aunt Ada's garden</rdf:li></rdf:Bag></dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
`

// The library survives a killed run, its continuation, a run without work, and
// undoing everything.
func TestTwoThousandPhotos(t *testing.T) {
	corel, err := dataset.Open(t.Context(), oracle.Path(t, "data/corel5k"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const photos, learnt = 2000, 300
	h := newHome(t, corel.Photos[photos:photos+learnt])
	damaged := h.plant(corel.Photos[:photos])
	before := h.digest()
	theirSidecars := len(h.sidecars())

	begun := time.Now()
	killed := h.command("cpar", "annotate", "tree", "--write", "sidecar", "--min-probability", "0.2")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- killed.Wait() }()
	for h.count() < theirSidecars+photos/3 {
		select {
		case err := <-ended:
			t.Fatalf("it ended before it could be killed: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	_ = killed.Process.Kill()
	<-ended
	there := h.sidecars()
	asked := h.questions()

	out, notes := h.cpar(3, "annotate", "tree", "--write", "sidecar", "--min-probability", "0.2", "--json")
	first := time.Since(begun)
	all := h.annotated(out)
	if len(all) != photos {
		t.Errorf("%d of %d photos are reported", len(all), photos)
	}
	h.check(all, damaged, there, notes)
	if q := h.questions(); q-asked > (photos-len(there)+theirSidecars)/16+10 {
		t.Errorf("%d questions after %d for %d photos", q-asked, asked, len(there)-theirSidecars)
	}

	asked, begun = h.questions(), time.Now()
	out, _ = h.cpar(3, "annotate", "tree", "--write", "sidecar", "--min-probability", "0.2", "--json")
	second := time.Since(begun)
	for path, a := range h.annotated(out) {
		if a.Error == "" && (!a.Known || a.Sent > 0 || len(a.Files) > 0) {
			t.Errorf("%s is done once more: %+v", path, a)
		}
	}
	if q := h.questions(); q != asked {
		t.Errorf("%d questions when nothing is left to do", q-asked)
	}
	t.Logf("the first run took %.1f s, with a kill on the way, the second %.2f s: 1/%.0f", first.Seconds(), second.Seconds(), first.Seconds()/second.Seconds())

	// The second command continued the killed run, so one undo reverts both.
	h.cpar(3, "undo", "--last") // the last command wrote nothing
	h.cpar(0, "undo", h.runs()[0].ID)
	h.cpar(3, "undo", "--last")
	if h.digest() != before {
		t.Error("the tree is not as it was")
	}
}

// plant makes a tree of photos and returns the damaged ones.
func (h *home) plant(items []dataset.Photo) (damaged []string) {
	h.t.Helper()
	for i, it := range items {
		folder := fmt.Sprintf("%d/%02d", 2000+i%7, i%12)
		name := filepath.Join(folder, filepath.Base(it.Path))
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		if i%100 == 11 || i%100 == 13 || i%400 == 17 || i%200 == 7 || i%500 == 19 {
			b, err := os.ReadFile(it.Path)
			if err != nil {
				h.t.Fatal(err)
			}
			switch {
			case i%200 == 7:
				h.write(name, append(b[:40:40], bytes.Repeat([]byte{0x55}, 500)...))
				damaged = append(damaged, filepath.Join(h.tree, name))
				continue
			case i%100 == 11:
				h.write(stem+".RAF", raf(b))
				continue
			case i%400 == 17:
				h.heic(it.Path, stem+".heic")
				continue
			case i%500 == 19:
				h.write(name, b[:len(b)*4/5])
				continue
			}
			h.write(stem+".RAF", raf(b))
		}
		h.link(it.Path, filepath.Join(h.tree, name))
		switch i % 50 {
		case 3:
			h.write(name+".xmp", []byte(theirs))
		case 4:
			h.write(stem+".xmp", []byte(theirs))
		}
	}
	h.write("2001/film.mts", []byte("a film"))
	h.write("2001/@eaDir/thumb.jpg", []byte("a thumbnail"))
	return damaged
}

// raf makes a file with a preview, which is all that readers of the preview
// need.
func raf(preview []byte) []byte {
	head := append([]byte("FUJIFILMCCD-RAW 0201"), make([]byte, 140)...)
	binary.BigEndian.PutUint32(head[84:], uint32(len(head)))
	binary.BigEndian.PutUint32(head[88:], uint32(len(preview)))
	return append(head, preview...)
}

func (h *home) heic(from, name string) {
	h.t.Helper()
	to := filepath.Join(h.tree, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if tool, err := exec.LookPath("heif-enc"); err == nil {
		_ = exec.Command(tool, "-q", "60", from, "-o", to).Run()
	}
	if _, err := os.Stat(to); err == nil {
		return
	}
	b, err := os.ReadFile(filepath.Join("..", "..", "photo", "decode", "testdata", "corner.heic"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(name, b)
}

func (h *home) count() (n int) {
	h.files(func(path string) {
		if filepath.Ext(path) == ".xmp" {
			n++
		}
	})
	return n
}

func (h *home) check(all map[string]annotated, damaged []string, there map[string]bool, notes []byte) {
	h.t.Helper()
	for _, path := range damaged {
		if all[path].Error == "" {
			h.t.Errorf("%s is damaged, and nothing says so", path)
		}
		delete(all, path)
	}
	if !bytes.Contains(notes, fmt.Appendf(nil, "cpar: %d of ", len(damaged))) || !bytes.Contains(notes, []byte(" photos could not be used, and the others are done")) {
		h.t.Errorf("it ends with: %s", notes)
	}
	now, done := h.sidecars(), 0
	for path, a := range all {
		own := path + ".xmp"
		b, err := os.ReadFile(own)
		planted := err == nil && bytes.Contains(b, []byte("Ada")) // before the first run
		// The kill may come between the sidecars of a photo and its raw file.
		missing := slices.DeleteFunc(slices.Clone(a.Also), func(also string) bool { return there[filepath.Join(h.dir, also)+".xmp"] })
		switch {
		case a.Error != "":
			h.t.Errorf("%s: %s", path, a.Error)
		case there[own] && !planted:
			if done++; len(a.Files) != len(missing) || !a.Known || a.Sent > 0 {
				h.t.Errorf("%s was finished except for %q, and is done again: %+v", path, missing, a)
			}
		case len(a.Keywords) > 0 && planted && !bytes.Contains(b, []byte(a.Keywords[0].Word)):
			h.t.Errorf("%s has keywords that are not in its sidecar", path)
		case len(a.Keywords) > 0 && len(a.Files) == 0 && !now[own] && !now[strings.TrimSuffix(path, filepath.Ext(path))+".xmp"]:
			h.t.Errorf("%s has keywords and no sidecar", path)
		}
	}
	h.t.Logf("%d of %d were finished before the kill", done, len(all))
}

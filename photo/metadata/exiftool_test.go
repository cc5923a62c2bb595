package metadata

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// tool skips the test if a program is missing, or fails it under
// CPAR_EXIFTOOL=required.
func tool(t *testing.T, name, env string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv(env) == "required" {
		t.Fatalf("%s is missing, and %s=required", name, env)
	}
	t.Skipf("needs %s", name)
	return ""
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var failure bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, failure.Bytes())
	}
	return string(out)
}

func fields(t *testing.T, path string) map[string]any {
	t.Helper()
	var all []map[string]any
	if err := json.Unmarshal([]byte(run(t, "exiftool", "-j", "-G1", "-a", "-struct", "-validate", "-warning", "-error", "-all", path)), &all); err != nil {
		t.Fatal(err)
	}
	for k := range all[0] {
		if strings.HasPrefix(k, "System:") || k == "SourceFile" || k == "ExifTool:ExifToolVersion" {
			delete(all[0], k)
		}
	}
	return all[0]
}

func texts(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		var list []string
		for _, x := range v {
			list = append(list, texts(x)...)
		}
		return list
	case string:
		return []string{v}
	}
	b, _ := json.Marshal(v)
	return []string{string(b)}
}

func exivLists(t *testing.T, path string) map[string][]string {
	lists := map[string][]string{}
	cmd := exec.Command("exiv2", "-PEIXkt", path)
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		return lists // no metadata
	}
	for line := range strings.Lines(string(out)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			lists[key] = append(lists[key], strings.TrimSpace(value))
		}
	}
	return lists
}

func TestOtherProgramsReadOurKeywords(t *testing.T) {
	tool(t, "exiftool", "CPAR_EXIFTOOL")
	tool(t, "exiv2", "CPAR_EXIFTOOL")
	words := []string{"sky", "Küste", "東京", "AC/DC", `"quoted" & <marked>`, "two words"}
	auto := func(sep string) (list []string) {
		for _, w := range words {
			list = append(list, autoRoot+sep+strings.ReplaceAll(w, "/", map[string]string{"/": `\`, "|": "/"}[sep]))
		}
		return list
	}
	rows := []struct {
		exiftool, exiv2 string
		want            []string
		embedded        bool
	}{
		{"XMP-dc:Subject", "Xmp.dc.subject", words, false},
		{"XMP-lr:HierarchicalSubject", "Xmp.lr.hierarchicalSubject", auto("|"), false},
		{"XMP-digiKam:TagsList", "Xmp.digiKam.TagsList", auto("/"), false},
		{"XMP-cpar:Words", "Xmp.cpar.Words", words, false},
		{"XMP-cpar:Run", "Xmp.cpar.Run", []string{"2026-run"}, false},
		{"IPTC:Keywords", "Iptc.Application2.Keywords", words, true},
		{"IPTC:CodedCharacterSet", "Iptc.Envelope.CharacterSet", []string{"UTF8"}, true},
	}
	for _, where := range []Where{Sidecar, Embedded} {
		photo := save(t, "a.jpg", plainJPEG(t))
		e := do(t, photo, where, Append, Change{Suggest: words, Run: "2026-run"})
		exif, exiv := fields(t, e.Path), exivLists(t, e.Path)
		for _, row := range rows {
			want := row.want
			if row.embedded && where == Sidecar {
				continue // exiv2 derives those of a sidecar from XMP
			}
			equal(t, string(where)+": exiftool "+row.exiftool, texts(exif[row.exiftool]), want)
			if row.exiftool == "IPTC:CodedCharacterSet" && want != nil {
				want = []string{iimUTF8}
			}
			got := exiv[row.exiv2]
			if strings.HasPrefix(row.exiv2, "Xmp") { // a list on one line
				want = []string{strings.Join(want, ", ")}
			}
			equal(t, string(where)+": exiv2 "+row.exiv2, got, want)
		}
		equal(t, string(where)+": validation", texts(exif["ExifTool:Validate"]), []string{"OK"})
	}
}

func made(t *testing.T, folder string) []string {
	t.Helper()
	at := func(name string) string { return filepath.Join(folder, name) }
	plain := plainJPEG(t)
	for _, name := range []string{"exiftool.jpg", "exiv2.jpg", "latin.jpg", "mwg.jpg", "bare.jpg", "sidecars.jpg"} {
		put(t, at(name), plain)
	}
	run(t, "exiftool", "-q", "-overwrite_original", "-XMP-dc:Subject=mine", "-XMP-dc:Subject=Küche", "-IPTC:Keywords=mine", "-IPTC:Caption-Abstract=what is seen", "-XMP-dc:Title-de=Titel",
		"-EXIF:XPKeywords=by windows", "-EXIF:DateTimeOriginal=2026:01:02 03:04:05", "-GPSLatitude=48.1", "-GPSLatitudeRef=N", "-XMP:Rating=4", "-Comment=a comment", "-XMP-lr:HierarchicalSubject=Things|mine",
		"-XMP-digiKam:TagsList=Things/mine", "-RegionInfo={AppliedToDimensions={W=24,H=16,Unit=pixel},RegionList=[{Area={X=0.5,Y=0.5,W=0.1,H=0.1,Unit=normalized},Name=Anna,Type=Face}]}",
		at("exiftool.jpg"))
	run(t, "exiv2", "-M", "set Xmp.dc.subject XmpSeq mine", "-M", "set Xmp.xmp.Rating 3", "-M", "add Iptc.Application2.Keywords mine", "-M", "set Iptc.Application2.Headline news",
		"-M", "set Exif.Photo.UserComment charset=Ascii hello", at("exiv2.jpg"))
	run(t, "exiftool", "-q", "-overwrite_original", "-charset", "iptc=Latin", "-IPTC:Keywords=Küche", "-IPTC:City=München", at("latin.jpg"))
	run(t, "exiftool", "-q", "-overwrite_original", "-IPTC:Keywords=mine", "-IPTCDigest=new", "-ICC_Profile:all=", at("mwg.jpg"))
	run(t, "exiftool", "-q", "-overwrite_original", "-Keywords=mine", "-CodedCharacterSet=", at("bare.jpg"))
	run(t, "exiftool", "-q", "-XMP-dc:Subject=mine", "-XMP:Rating=2", "-o", at("exiftool.xmp"))
	run(t, "exiv2", "-eX", at("exiv2.jpg")) // writes exiv2.xmp
	files, err := filepath.Glob(at("*"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range foreign {
		p := at(strings.ReplaceAll(name, " ", "-") + ".xmp")
		put(t, p, []byte(text))
		files = append(files, p)
	}
	mpf := withSegments(plain, mpfSegment(binary.BigEndian, []int{len(plain), len(plain)}, []int{0, len(plain)}))
	put(t, at("two.jpg"), append(mpf, plain...))
	return append(files, at("two.jpg"))
}

// Only our words are lost after a retraction, and an undo restores every byte.
func TestForeignFilesKeepAllFields(t *testing.T) {
	tool(t, "exiftool", "CPAR_EXIFTOOL")
	tool(t, "exiv2", "CPAR_EXIFTOOL")
	// Fields that may change.
	ours := []string{"XMP-dc:Subject", "XMP-lr:HierarchicalSubject", "XMP-digiKam:TagsList", "IPTC:Keywords", "Photoshop:IPTCDigest", "File:CurrentIPTCDigest",
		"MPImage1:MPImageLength", "MPImage2:MPImageStart", "XMP-x:XMPToolkit",
		"XMP:Subject"} // without a prefix
	for _, path := range made(t, t.TempDir()) {
		name := filepath.Base(path)
		photo, where := path, Embedded
		if strings.HasSuffix(name, ".xmp") {
			photo, where = save(t, "a.jpg", plainJPEG(t)), Sidecar
			put(t, photo+".xmp", get(t, path))
			path = photo + ".xmp"
		}
		before, old, exiv := get(t, path), fields(t, path), exivLists(t, path)
		e := do(t, photo, where, Follow, Change{Suggest: []string{"sky", "Küste"}, Run: "r1"})
		now, nowExiv := fields(t, path), exivLists(t, path)
		for k, v := range old {
			if slices.Contains(ours, k) {
				if got := texts(now[k]); strings.HasPrefix(k, "XMP") && k != "XMP-x:XMPToolkit" && !slices.Equal(got[:min(len(got), len(texts(v)))], texts(v)) {
					t.Errorf("%s: %s was %q, is %q", name, k, v, got)
				}
			} else if !reflect.DeepEqual(v, now[k]) {
				t.Errorf("%s: %s was %v, is %v", name, k, v, now[k])
			}
		}
		for k := range now {
			if _, was := old[k]; !was && !slices.Contains(ours, k) && !strings.HasPrefix(k, "XMP-cpar") && k != "IPTC:CodedCharacterSet" && k != "IPTC:ApplicationRecordVersion" {
				t.Errorf("%s: %s = %v is new", name, k, now[k])
			}
		}
		for k, values := range exiv {
			if got := nowExiv[k]; len(values) > 0 && (len(got) == 0 || !strings.HasPrefix(got[0], values[0])) {
				t.Errorf("%s: exiv2's %s was %q, is %q", name, k, values, got)
			}
		}
		left, err := Retract(path, "r1", e.Added)
		if err != nil || left == nil {
			t.Fatalf("%s: %v %v", name, left, err)
		}
		if err := left.Apply(false); err != nil {
			t.Fatal(err)
		}
		now = fields(t, path)
		for k, v := range now {
			if k != "XMP-x:XMPToolkit" && !reflect.DeepEqual(texts(v), texts(old[k])) {
				t.Errorf("%s: after taking the words out, %s is %v, was %v", name, k, v, old[k])
			}
		}
		if len(now) < len(old) {
			t.Errorf("%s: after taking the words out, %d fields of %d", name, len(now), len(old))
		}
		for _, u := range []*Edit{left.Undo(), e.Undo()} {
			if err := u.Apply(false); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(get(t, path), before) {
			t.Errorf("%s: undo left other bytes", name)
		}
	}
}

func TestKeywordsOfExiftool(t *testing.T) {
	tool(t, "exiftool", "CPAR_EXIFTOOL")
	plain := tiffOf(binary.LittleEndian, map[uint16]string{256: "\x01\x00", 257: "\x01\x00", 273: "\x08\x00\x00\x00", 279: "\x01\x00\x00\x00"})
	png := pngOf(pngChunk("IHDR", "\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00"), pngChunk("IDAT", deflated("\x00\x00")))
	png = append(png[:len(png)-12], pngChunk("IEND", "")...)
	for name, data := range map[string][]byte{
		"a.jpg": plainJPEG(t), "a.tif": []byte(plain), "a.png": png,
		"a.webp": webpOf(riff("VP8L", "\x2f\x00\x00\x00\x00\x07\x50\xe5\xfd\x02\x00")),
		"a.heic": heifOf(packetOf(""), "II*\x00\x08\x00\x00\x00\x00\x00"),
	} {
		photo := save(t, name, data)
		run(t, "exiftool", "-q", "-m", "-overwrite_original", "-XMP-dc:Subject=sea", "-XMP-dc:Subject=Küste", "-XMP-lr:HierarchicalSubject=Places|Rome", photo)
		if kind := filepath.Ext(name); kind == ".jpg" || kind == ".tif" || kind == ".png" {
			run(t, "exiftool", "-q", "-m", "-overwrite_original", "-IPTC:Keywords=boat", "-EXIF:XPKeywords=tree;sea", photo)
		}
		w, _, err := ReadFile(photo)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"boat", "sea", "Küste", "Rome", "tree"}
		if name == "a.webp" || name == "a.heic" {
			want = []string{"sea", "Küste", "Rome"}
		}
		slices.Sort(want)
		got := slices.Sorted(slices.Values(w.Human))
		equal(t, name, got, want)
	}
}

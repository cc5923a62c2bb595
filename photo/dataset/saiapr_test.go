package dataset

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

func details(ws []Warning) []string {
	var out []string
	for _, w := range ws {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", w.Kind, sanitize.Text(w.Name), w.Detail), ": "))
	}
	return out
}

func at(folder string, files map[string]string) map[string]string {
	out := map[string]string{}
	for name, content := range files {
		out[folder+name] = content
	}
	return out
}

func with(files map[string]string, more ...string) map[string]string {
	out := maps.Clone(files)
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func saiaprFiles(t testing.TB) map[string]string {
	jpg := string(plainJPEG(t))
	return map[string]string{
		"wlist.txt":                           "1\t\n107\tfloor-tennis-court\n150\tman\n253\tsky-blue\n",
		"saiapr_tc-12/00/labels.txt":          "25 1 253\n25 2 253\n25 3 150\n112 1 107\n112 2 150\n",
		"saiapr_tc-12/00/images/112.jpg":      jpg,
		"saiapr_tc-12/00/images/25.jpg":       jpg,
		"saiapr_tc-12/00/features.txt":        "1 2 3 4\n",
		"saiapr_tc-12/00/ontology_path.txt":   "25 1 _sky-blue\n",
		"saiapr_tc-12/00/spatial_rels/25.mat": "mat",
		"saiapr_tc-12/01/labels.txt":          "  1.0000000e+03   1.0000000e+00   1.5000000e+02\r\n",
		"saiapr_tc-12/01/images/1000.JPG":     jpg,
		"saiapr_tc-12/documents/readme.txt":   "text",
	}
}

var saiaprItems = []string{"saiapr_tc-12/00/images/112.jpg: floor-tennis-court;man", "saiapr_tc-12/00/images/25.jpg: sky-blue;man", "saiapr_tc-12/01/images/1000.JPG: man"}

func TestOpenSAIAPR(t *testing.T) {
	for _, place := range []string{"", "benchmark/", "saiaprtc12ok/", "saiaprtc12ok/benchmark/", "iaprtc12/saiaprtc12ok/benchmark/"} {
		c, err := Open(t.Context(), folder(t, at(place, saiaprFiles(t))), Options{Strict: true})
		if err != nil {
			t.Errorf("in %q: %v", place, err)
			continue
		}
		var want []string
		for _, item := range saiaprItems {
			want = append(want, place+item)
		}
		equal(t, "items in "+place, listing(c.Photos), want)
		if c.Format != SAIAPR {
			t.Errorf("in %q: format %q", place, c.Format)
		}
		if train, test := HeldOut(c, 10); len(train)+len(test) != 3 || len(test) == 0 {
			t.Errorf("held out %d of %d", len(test), len(train)+len(test))
		}
	}
}

func TestDamagedSAIAPR(t *testing.T) {
	jpg := string(plainJPEG(t))
	whole := saiaprFiles(t)
	for _, tc := range []struct {
		name            string
		files           map[string]string
		items, warnings []string
	}{
		{"bom, crlf, spaces", with(whole, "wlist.txt", "\xef\xbb\xbf107  floor-tennis-court \r\n\r\n 150\t\tman\r\n253 \t sky-blue"), saiaprItems, nil},
		{"latin words", with(whole, "wlist.txt", "107\tfloor-tennis-court\n150\tma\xf1ana\n253\tsky-blue\n"),
			[]string{"saiapr_tc-12/00/images/112.jpg: floor-tennis-court;mañana", "saiapr_tc-12/00/images/25.jpg: sky-blue;mañana", "saiapr_tc-12/01/images/1000.JPG: mañana"}, nil},
		{"labels without a name", with(whole, "saiapr_tc-12/00/labels.txt", "112 1 107\n112 2 0\n112 3 0\n25 1 1\n112 4 999\n"), []string{"saiapr_tc-12/00/images/112.jpg: floor-tennis-court", saiaprItems[2]},
			[]string{"bad-keyword saiapr_tc-12/00/images/112.jpg: labels.txt line 1: label 0 has no name in wlist.txt",
				"bad-keyword saiapr_tc-12/00/images/112.jpg: labels.txt line 1: label 999 has no name in wlist.txt",
				"bad-keyword saiapr_tc-12/00/images/25.jpg: labels.txt line 4: label 1 has no name in wlist.txt",
				"no-keywords saiapr_tc-12/00/images/25.jpg: labels.txt line 4"}},
		{"rows that are none", with(whole, "saiapr_tc-12/00/labels.txt", "image region label\n112 1 107\n112 2\n25 1 253 7\n25 1.5 253\n-25 1 253\n25 1 NaN\n25 1 1e99\n112 \x1b[2J 107\n25 2 253\n"),
			[]string{"saiapr_tc-12/00/images/112.jpg: floor-tennis-court", "saiapr_tc-12/00/images/25.jpg: sky-blue", saiaprItems[2]},
			[]string{"malformed-row saiapr_tc-12/00/labels.txt: line 1: image region label is not a photo, a region and a label",
				"malformed-row saiapr_tc-12/00/labels.txt: line 3: 112 2 is not a photo, a region and a label",
				"malformed-row saiapr_tc-12/00/labels.txt: line 4: 25 1 253 7 is not a photo, a region and a label",
				"malformed-row saiapr_tc-12/00/labels.txt: line 5: 25 1.5 253 is not a photo, a region and a label",
				"malformed-row saiapr_tc-12/00/labels.txt: line 6: -25 1 253 is not a photo, a region and a label",
				"malformed-row saiapr_tc-12/00/labels.txt: line 7: 25 1 NaN is not a photo, a region and a label",
				"malformed-row saiapr_tc-12/00/labels.txt: line 8: 25 1 1e99 is not a photo, a region and a label",
				`malformed-row saiapr_tc-12/00/labels.txt: line 9: "112 \x1b[2J 107" is not a photo, a region and a label`}},
		{"lines of the list", with(whole, "wlist.txt", "id\tname\n107\tfloor-tennis-court\n150\tman\n150\tman\n150\twoman\n253\tsky-blue\n"), saiaprItems,
			[]string{"malformed-row wlist.txt: line 1: id is not a label number", "malformed-row wlist.txt: line 5: label 150 is man already"}},
		{"photos and labels that are not there", with(whole, "saiapr_tc-12/01/labels.txt", "1000 1 150\n1001 1 150\n1001 2 253\n", "saiapr_tc-12/01/images/1002.jpg", jpg,
			"saiapr_tc-12/01/images/1000.png", "twin", "saiapr_tc-12/01/images/._1000.jpg", "mac", "saiapr_tc-12/02/images/2000.jpg", jpg), saiaprItems,
			[]string{"duplicate-path saiapr_tc-12/01/images/1000.png: 1000.JPG differs only in its extension",
				"missing-file saiapr_tc-12/01/images/1001.jpg: labels.txt line 2", "no-keywords saiapr_tc-12/01/images/1002.jpg: labels.txt has no region for it",
				"missing-file saiapr_tc-12/02/labels.txt: without it the photos of saiapr_tc-12/02 are left out"}},
		{"no images, an empty one, a large file", with(whole, "saiapr_tc-12/03/labels.txt", "3000 1 150\n", "saiapr_tc-12/01/images/1000.JPG", "",
			"saiapr_tc-12/04/labels.txt", strings.Repeat(" ", maxLabels+1)), saiaprItems[:2],
			[]string{"missing-file saiapr_tc-12/03/images/3000.jpg: labels.txt line 1",
				"unreadable-file saiapr_tc-12/04/labels.txt: the photos of saiapr_tc-12/04 are left out: it has more than 16777216 bytes",
				"unreadable-file saiapr_tc-12/01/images/1000.JPG: labels.txt line 1: the file is empty"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := opened(t, folder(t, tc.files))
			equal(t, "items", listing(c.Photos), tc.items)
			equal(t, "warnings", details(c.Warnings), tc.warnings)
		})
	}
}

func TestSAIAPRReportsMissingHalf(t *testing.T) {
	whole := saiaprFiles(t)
	without := func(parts ...string) map[string]string {
		out := maps.Clone(whole)
		maps.DeleteFunc(out, func(name, _ string) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(name, part) })
		})
		return out
	}
	inner := map[string]string{}
	for name, content := range whole {
		if rest, ok := strings.CutPrefix(name, "saiapr_tc-12/"); ok {
			inner[rest] = content
		}
	}
	for _, tc := range []struct {
		files           map[string]string
		problem, advice string
	}{
		{without("labels.txt"), "no folder in saiapr_tc-12 has a labels.txt, which lists what the photos of SAIAPR TC-12 show", "unpack the published archive again"},
		{map[string]string{"benchmark/wlist.txt": whole["wlist.txt"]}, "no folder in benchmark has a labels.txt", "each of its folders 00 to 40 needs its own"},
		{without("wlist.txt"), "wlist.txt, which explains the labels of SAIAPR TC-12, is missing", "name the folder that holds both"},
		{inner, "wlist.txt, which explains", "it lies beside the folder saiapr_tc-12"},
		{with(whole, "wlist.txt", "a\nb\n"), "wlist.txt names no label", "a number, a tab and a name"},
		{with(whole, "wlist.txt", strings.Repeat("\n", maxWordList+1)), "wlist.txt has more than 1048576 bytes", "check that it is the published file"},
	} {
		_, err := Open(t.Context(), folder(t, tc.files), Options{})
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), tc.problem) || !strings.Contains(hint.Of(err), tc.advice) {
			t.Errorf("want %q and %q in\n%v\n%s", tc.problem, tc.advice, err, hint.Of(err))
		}
	}
}

func TestSAIAPRStaysInside(t *testing.T) {
	outside := folder(t, saiaprFiles(t))
	dir := folder(t, saiaprFiles(t))
	if err := os.Remove(filepath.Join(dir, "saiapr_tc-12/00/images/25.jpg")); err != nil {
		t.Fatal(err)
	}
	links(t, dir, map[string]string{
		"saiapr_tc-12/00/images/25.jpg": filepath.Join(outside, "saiapr_tc-12/00/images/25.jpg"),
		"saiapr_tc-12/05":               filepath.Join(outside, "saiapr_tc-12/00"),
		"saiapr_tc-12/01/labels.txt":    filepath.Join(outside, "saiapr_tc-12/01/labels.txt"),
	})
	c := opened(t, dir)
	equal(t, "items", listing(c.Photos), saiaprItems[:1])
	equal(t, "warnings", details(c.Warnings), []string{"ignored-file saiapr_tc-12/05: a symbolic link",
		"ignored-file saiapr_tc-12/00/images/25.jpg: a symbolic link", "missing-file saiapr_tc-12/00/images/25.jpg: labels.txt line 1",
		"unreadable-file saiapr_tc-12/01/labels.txt: the photos of saiapr_tc-12/01 are left out: opening it: path escapes from parent"})
}

func TestManifestOverridesFormats(t *testing.T) {
	jpg := string(plainJPEG(t))
	tagged := string(withSegments(plainJPEG(t), iptcSegment(true, "sky")))
	for want, files := range map[Format]map[string]string{
		Manifest: with(saiaprFiles(t), ManifestName, "path,keywords\na.jpg,sea\n", "a.jpg", jpg),
		SAIAPR:   with(saiaprFiles(t), "a.jpg", tagged),
		Embedded: {"a.jpg": tagged, "Images/b.jpg": tagged, "Annotations/notes.txt": "x", "images/c.jpg": tagged, "benchmark/d.jpg": tagged, "01/labels.txt": "x"},
	} {
		c, err := Open(t.Context(), folder(t, files), Options{})
		if err != nil || c.Format != want {
			t.Errorf("%s: read as %+v, %v", want, c, err)
		}
	}
}

// The files' metadata takes most of the time.
func BenchmarkOpenSAIAPR(b *testing.B) {
	const folders, photos = 10, 200
	files := map[string]string{"wlist.txt": "1\tsky\n2\tsea\n"}
	for f := range folders {
		place := fmt.Sprintf("saiapr_tc-12/%02d/", f)
		var rows strings.Builder
		for p := range photos {
			id := f*photos + p
			fmt.Fprintf(&rows, "%d 1 1\n%d 2 2\n", id, id)
			files[fmt.Sprintf("%simages/%d.jpg", place, id)] = "picture"
		}
		files[place+"labels.txt"] = rows.String()
	}
	dir := folder(b, files)
	for b.Loop() {
		if c, err := Open(b.Context(), dir, Options{Strict: true}); err != nil || len(c.Photos) != folders*photos {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/folders/photos, "ns/photo")
}

// Labels must be distinct and messages printable.
func FuzzSAIAPRLabels(f *testing.F) {
	for _, s := range []string{"112 1 107\n25 2 253\r\n", " 1.12e+02 1 1.07e2", "a b c\n1 2\n1 2 3 4", "1 1 NaN\n-1 1 1\n1e99 1 1\n\xff", "25 1 0\n25 2 0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Collection{}
		photos := c.readLabels(decodeText(data), "labels.txt")
		warnings := c.Warnings
		checkPrintable(t, warnings)
		seen, labels := map[int]bool{}, 0
		for _, p := range photos {
			own := slices.Compact(slices.Sorted(slices.Values(p.labels)))
			if seen[p.photo] || p.photo < 0 || len(own) != len(p.labels) || len(own) == 0 || own[0] < 0 {
				t.Fatalf("%+v", p)
			}
			seen[p.photo] = true
			labels += len(own)
		}
		if rows := strings.Count(decodeText(data), "\n") + 1; labels+len(warnings) > rows {
			t.Fatalf("%d labels and %d warnings from %d rows", labels, len(warnings), rows)
		}
	})
}

// Names are trimmed and not empty.
func FuzzWordList(f *testing.F) {
	for _, s := range []string{"1\t\n107\tfloor-tennis-court\r\n253 sky-blue", "\xef\xbb\xbf1\ta\n1\tb\n", "x\ty\n-1\tz\n", "7\tma\xf1ana"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &Collection{}
		words := c.readWordList(decodeText(data), "wlist.txt")
		checkPrintable(t, c.Warnings)
		var raw []string
		for id, word := range words {
			if id < 0 || word == "" || word != strings.TrimSpace(word) {
				t.Fatalf("label %d is %q", id, word)
			}
			raw = append(raw, word)
		}
		keywords, _ := cleanKeywords(raw, "a.jpg", "")
		checkKeywords(t, keywords)
	})
}

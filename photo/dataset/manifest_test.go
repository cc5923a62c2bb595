package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/testing/oracle"
)

func TestOpenManifest(t *testing.T) {
	long := strings.Repeat("k", MaxKeywordBytes)
	var many []string
	for i := range MaxKeywords + 3 {
		many = append(many, fmt.Sprintf("k%02d", i))
	}
	for _, tc := range []struct {
		name, manifest  string
		items, warnings []string
	}{
		{"plain", "path,keywords\na.jpg,sky;sea\nsub/b.jpg,sand\n", []string{"a.jpg: sky;sea", "sub/b.jpg: sand"}, nil},
		{"bom and crlf", "\xef\xbb\xbfpath,keywords\r\na.jpg,sky;sea\r\nsub/b.jpg,sand", []string{"a.jpg: sky;sea", "sub/b.jpg: sand"}, nil},
		{"quoted", "path,keywords\n\"a.jpg\",\"sky, grey;the \"\"sea\"\"\"\n", []string{`a.jpg: sky, grey;the "sea"`}, nil},
		{"case, order, other columns", "Keywords , size,PATH\nsky,12,a.jpg\n", []string{"a.jpg: sky"}, nil},
		{"trimmed, emptied, once", "path,keywords\n a.jpg , sky ;; sea;sky ;\t\u00a0\n\n", []string{"a.jpg: sky;sea"}, nil},
		{"nfc", "path,keywords\na.jpg,Ku\u0308ste;Küste\n", []string{"a.jpg: Küste"}, nil},
		{"backslash and dots", "path,keywords\n.\\sub\\b.jpg,sky\nsub/../a.jpg,sea\n", []string{"sub/b.jpg: sky", "a.jpg: sea"}, nil},
		{"missing", "path,keywords\nx.jpg,sky\na.jpg,sea\nsub/y.jpg,sea\n", []string{"a.jpg: sea"}, []string{"missing-file x.jpg", "missing-file sub/y.jpg"}},
		{"duplicate", "path,keywords\na.jpg,sky\n./a.jpg,sea\nsub//b.jpg,1\nsub/b.jpg,2\n", []string{"a.jpg: sky", "sub/b.jpg: 1"},
			[]string{"duplicate-path a.jpg", "duplicate-path sub/b.jpg"}},
		{"traversal", "path,keywords\n../a.jpg,x\nsub/../../a.jpg,x\n/etc/passwd,x\nC:\\a.jpg,x\n./C:/a.jpg,x\n..,x\n./ ./c.jpg,x\na.jpg,sky\n", []string{"a.jpg: sky"},
			[]string{"outside-collection ../a.jpg", "outside-collection sub/../../a.jpg", "outside-collection /etc/passwd",
				"outside-collection C:\\a.jpg", "outside-collection ./C:/a.jpg", "outside-collection ..", "outside-collection ./ ./c.jpg"}},
		{"no keywords", "path,keywords\na.jpg,\nsub/b.jpg, ; ;\nc.jpg,sky\n", []string{"c.jpg: sky"}, []string{"no-keywords a.jpg", "no-keywords sub/b.jpg"}},
		{"not utf-8", "path,keywords\na.jpg,sk\xff\nb\xff.jpg,sky\nc.jpg,sky\n", []string{"c.jpg: sky"}, []string{"not-utf8 line 2", "not-utf8 line 3"}},
		{"columns", "path,keywords\na.jpg,sky,sea\nb.jpg\nc.jpg,sky\n,sky\n.,sky\n", []string{"c.jpg: sky"},
			[]string{"malformed-row line 2", "malformed-row line 3", "malformed-row line 5", "malformed-row ."}},
		{"quotes", "path,keywords\na.jpg,sk\"y\nc.jpg,sky\nb.jpg,\"open\nx.jpg,y\n", []string{"c.jpg: sky"}, []string{"malformed-row line 2", "malformed-row line 4"}},
		{"control characters", "path,keywords\na.jpg,sk\x1b[31my;sea\nsub/b.jpg,\"a\u202eb;a\nb\"\n\"c\n.jpg\",sky\n", []string{"a.jpg: sea"},
			[]string{"bad-keyword a.jpg", "bad-keyword sub/b.jpg", "bad-keyword sub/b.jpg", "no-keywords sub/b.jpg", `malformed-row "c\n.jpg"`}},
		{"long", "path,keywords\na.jpg," + long + ";" + long + "x\n", []string{"a.jpg: " + long}, []string{"bad-keyword a.jpg"}},
		{"many", "path,keywords\na.jpg," + strings.Join(many, ";") + ";k00\n", []string{"a.jpg: " + strings.Join(many[:MaxKeywords], ";")}, []string{"too-many-keywords a.jpg"}},
		{"empty file, folder", "path,keywords\nzero.jpg,sky\nsub,sky\na.jpg/x,sky\na.jpg,sky\n", []string{"a.jpg: sky"},
			[]string{"unreadable-file zero.jpg", "unreadable-file sub", "unreadable-file a.jpg/x"}},
		{"a refused row does not shadow", "path,keywords\na.jpg,\na.jpg,sky\n", []string{"a.jpg: sky"}, []string{"no-keywords a.jpg"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := manifestFolder(t, tc.manifest, "a.jpg", "sub/b.jpg", "c.jpg")
			if err := os.WriteFile(filepath.Join(dir, "zero.jpg"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			c := opened(t, dir)
			equal(t, "items", listing(c.Photos), tc.items)
			equal(t, "warnings", kindsOf(c.Warnings), tc.warnings)

			_, err := Open(t.Context(), dir, Options{Strict: true})
			var strict *StrictError
			if len(tc.warnings) == 0 {
				if err != nil {
					t.Errorf("strictly: %v", err)
				}
			} else if !errors.Is(err, cpar.ErrInput) || !errors.As(err, &strict) || !reflect.DeepEqual(strict.Warnings, c.Warnings) {
				t.Errorf("strictly: got %v", err)
			}
		})
	}
}

func TestManifestRejectsOtherTables(t *testing.T) {
	for content, want := range map[string]string{
		"":                          "is empty",
		"\n\n":                      "is empty",
		"\xef\xbb\xbf":              "is empty",
		"a.jpg,sky\nb.jpg,sea\n":    "it begins a.jpg,sky: unusable input",
		"path;keywords\na.jpg;sky":  "columns are separated by commas",
		"path\tkeywords\na.jpg\tk":  "columns are separated by commas",
		"path,keywords\ra.jpg,sky":  "not in CR alone",
		"\xff\xfep\x00a\x00":        "UTF-16",
		"\"path,keywords\na.jpg,x":  "no header",
		"path,keywords\n":           "it holds no annotated image",
		"path,keywords\nx.jpg,sky":  "1 file missing: x.jpg",
		"path,tags\na.jpg,sky\n":    "it begins path,tags",
		"\x00\x01\x02\x1b[2J,\x1b]": `"\x00\x01\x02\x1b[2J,\x1b]"`,
	} {
		_, err := Open(t.Context(), manifestFolder(t, content, "a.jpg"), Options{})
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error()+"\n"+hint.Of(err), want) || hint.Of(err) == "" {
			t.Errorf("%q: want %q and a hint in\n%v", content, want, err)
		}
	}
}

func TestManifestPathsOnDisk(t *testing.T) {
	outside := folder(t, map[string]string{"secret.jpg": "picture"})
	dir := manifestFolder(t, "", "a.jpg", "in/b.jpg", "Ku\u0308ste.jpg")
	links(t, dir, map[string]string{
		"inside.jpg": "in/b.jpg", "outside.jpg": filepath.Join(outside, "secret.jpg"), "away": outside, "loop": "loop", "dangling.jpg": "nowhere",
	})
	manifest := "path,keywords\n" + filepath.Join(dir, "a.jpg") + ",absolute\nKüste.jpg,nfc\nKu\u0308ste.jpg,nfd\ninside.jpg,link\n" +
		"outside.jpg,x\naway/secret.jpg,x\nloop/a.jpg,x\ndangling.jpg,x\n" + filepath.Join(outside, "secret.jpg") + ",x\n"
	if err := os.WriteFile(filepath.Join(dir, ManifestName), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	c := opened(t, dir)
	equal(t, "items", listing(c.Photos), []string{"a.jpg: absolute", "Ku\u0308ste.jpg: nfc", "inside.jpg: link"})
	equal(t, "warnings", kindsOf(c.Warnings), []string{"duplicate-path Ku\u0308ste.jpg", "outside-collection " + filepath.Join(outside, "secret.jpg"),
		"outside-collection outside.jpg", "outside-collection away/secret.jpg", "unreadable-file loop/a.jpg", "missing-file dangling.jpg"})
}

func TestSummaryCountsAndNames(t *testing.T) {
	var ws []Warning
	for _, n := range []string{"a.jpg", "b.jpg", "c.jpg"} {
		ws = append(ws, *newWarning(Missing, n, "line 3"))
	}
	if got, want := Summary(ws), "3 files missing: a.jpg, b.jpg, c.jpg"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range 7 {
		ws = append(ws, *newWarning(NoKeywords, fmt.Sprint(i), ""))
	}
	ws = append(ws, *newWarning(Duplicate, "d\x1b.jpg", "twice"))
	want := "3 files missing: a.jpg, b.jpg, c.jpg\n1 duplicate path, the first kept: \"d\\x1b.jpg\"\n7 images without keywords: 0, 1, 2, 3, 4 and 2 more"
	if got := Summary(ws); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A kind without words would disappear from every report.
	for _, k := range []Kind{Missing, Duplicate, Outside, Malformed, Encoding, NoKeywords, BadKeyword, TooMany, Spelling, Unreadable, Ignored, SplitMismatch, Note} {
		if !strings.HasPrefix(Summary([]Warning{{Kind: k, Name: "x"}}), "1 ") {
			t.Errorf("%s is not summarised", k)
		}
	}
	b, err := json.Marshal(ws[0])
	if err != nil || string(b) != `{"kind":"missing-file","name":"a.jpg","detail":"line 3"}` {
		t.Errorf("JSON %s, %v", b, err)
	}
}

func TestOpenCorel(t *testing.T) {
	c := opened(t, oracle.Path(t, "data/corel5k"))
	train, test, ok, err := c.Split()
	if err != nil || !ok || len(train) != 4500 || len(test) != 499 {
		t.Errorf("split into %d and %d, %v, %v", len(train), len(test), ok, err)
	}
	if len(c.Warnings) != 0 {
		t.Errorf("warnings:\n%s", c.Summary())
	}
}

func checkKeywords(t *testing.T, keywords []string) {
	t.Helper()
	if len(keywords) > MaxKeywords {
		t.Fatalf("%d keywords", len(keywords))
	}
	for i, k := range keywords {
		_, forbidden := firstForbidden(k)
		if k == "" || len(k) > MaxKeywordBytes || !utf8.ValidString(k) || forbidden || strings.Contains(k, separator) ||
			k != strings.TrimSpace(k) || !norm.NFC.IsNormalString(k) || slices.Contains(keywords[:i], k) {
			t.Fatalf("keyword %q of %q", k, keywords)
		}
	}
}

func checkPrintable(t *testing.T, warnings []Warning) {
	t.Helper()
	for _, w := range warnings {
		for _, s := range []string{w.String(), w.Detail, Summary([]Warning{w})} {
			if _, bad := firstForbidden(s); bad || !utf8.ValidString(s) {
				t.Fatalf("warning %q cannot be printed", s)
			}
		}
	}
}

func manifestOf(in io.Reader, dir string) ([]row, []Warning, error) {
	r := &reading{Collection: &Collection{Dir: dir}}
	err := r.readManifestFrom(in)
	return r.rows, r.Warnings, err
}

// Accepted photos round-trip through a manifest without a warning.
func FuzzManifest(f *testing.F) {
	for _, s := range []string{
		"path,keywords\na.jpg,sky;sea\n", "\xef\xbb\xbfpath,keywords\r\n\"a,b.jpg\",\"x\"\"y\"\r\n", "keywords,path\nx,../a\ny,C:\\a\nz,\"./ a\"\nz,./ ./a\n",
		"path,keywords\na,Ku\u0308ste;\x00;\u202e\n/somewhere/in/a,x\n", "path,keywords\n\"a\nb", "path,keywords\n-,\xff\n", "\xff\xfep",
	} {
		f.Add([]byte(s))
	}
	const dir = "/somewhere/in"
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, warnings, err := manifestOf(bytes.NewReader(data), dir)
		if err != nil {
			if !errors.Is(err, cpar.ErrInput) || len(rows) > 0 {
				t.Fatalf("%d rows and %v", len(rows), err)
			}
			return
		}
		checkPrintable(t, warnings)
		var items []Photo
		seen := map[string]bool{}
		for _, r := range rows {
			if !filepath.IsLocal(r.name) || !utf8.ValidString(r.name) || seen[r.name] || len(r.keywords) == 0 {
				t.Fatalf("row %+v", r)
			}
			seen[r.name] = true
			checkKeywords(t, r.keywords)
			items = append(items, Photo{Name: r.name, Keywords: r.keywords})
		}
		var b bytes.Buffer
		if err := WriteManifest(&b, items); err != nil {
			t.Fatal(err)
		}
		again, warnings, err := manifestOf(&b, dir)
		if err != nil || len(warnings) > 0 || len(again) != len(rows) {
			t.Fatalf("read back: %d of %d rows, %v, %v", len(again), len(rows), warnings, err)
		}
		for i := range rows {
			if again[i].name != rows[i].name || !slices.Equal(again[i].keywords, rows[i].keywords) {
				t.Fatalf("wrote %+v, read %+v", rows[i], again[i])
			}
		}
	})
}

func BenchmarkReadManifest(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		var m strings.Builder
		m.WriteString("path,keywords\n")
		for i := range n {
			fmt.Fprintf(&m, "images/%d.jpeg,sky;sea;sand;keyword %d\n", i, i%500)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if rows, _, err := manifestOf(strings.NewReader(m.String()), "/c"); err != nil || len(rows) != n {
					b.Fatal(len(rows), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}

func TestWriteManifestRejectsUnstableNames(t *testing.T) {
	for _, name := range []string{" a.jpg", "a.jpg ", `b\c.jpg`} {
		err := WriteManifest(io.Discard, []Photo{{Name: name, Keywords: []string{"sea"}}})
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v, want ErrInput", name, err)
		}
	}
}

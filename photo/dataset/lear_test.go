package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

// hvecs encodes rows for vec_read.m: uint16, little-endian, number of values
// first.
func hvecs(words int, rows ...[]int) string {
	var b []byte
	for _, set := range rows {
		b = binary.LittleEndian.AppendUint16(b, uint16(words))
		for i := range words {
			v := uint16(0)
			if slices.Contains(set, i) {
				v = 1
			}
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	return string(b)
}

func learFiles(t testing.TB) map[string]string {
	jpg := string(plainJPEG(t))
	return map[string]string{
		"corel5k.20091111/corel5k_dictionary.txt":    "sky\nsea\nsand\n",
		"corel5k.20091111/corel5k_train_list.txt":    "1000/1000\n1000/1001\n2000/1000\n",
		"corel5k.20091111/corel5k_test_list.txt":     "2000/2000\n",
		"corel5k.20091111/corel5k_train_annot.hvecs": hvecs(3, []int{0, 2}, []int{1}, []int{0}),
		"corel5k.20091111/corel5k_test_annot.hvecs":  hvecs(3, []int{2, 1}),
		"corel5k.20091111/corel5k_test_Gist.fvec":    "\x02\x00\x00\x00",
		"corel5k.20091111/vec_read.m":                "% reads",
		"images/1000/1000.jpeg":                      jpg,
		"images/1000/1001.jpeg":                      jpg,
		"images/2000/1000.jpeg":                      jpg,
		"images/2000/2000.jpeg":                      jpg,
	}
}

var learItems = []string{"images/1000/1000.jpeg: sky;sand", "images/1000/1001.jpeg: sea", "images/2000/1000.jpeg: sky", "images/2000/2000.jpeg: sea;sand"}

func TestOpenLEAR(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"beside":       learFiles(t),
		"crlf":         with(learFiles(t), "corel5k.20091111/corel5k_dictionary.txt", "sky\r\nsea\r\nsand", "corel5k.20091111/corel5k_test_list.txt", "2000/2000.jpeg\r\n"),
		"other places": with(learFiles(t), "corel5k.20091111/corel5k_train_list.txt", "photos\\1000\\1000\n./1001\nelsewhere/2000/1000.JPEG\n"),
		"words":        with(without(learFiles(t), "corel5k.20091111/corel5k_dictionary.txt"), "corel5k.20091111/corel5k_words.txt", "sky\nsea\nsand\n"),
		"in the folder": func() map[string]string {
			files := map[string]string{}
			for name, content := range learFiles(t) {
				files[strings.TrimPrefix(name, "corel5k.20091111/")] = content
			}
			return files
		}(),
	} {
		c, err := Open(t.Context(), folder(t, files), Options{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		equal(t, name, listing(c.Photos), learItems)
		equal(t, name+": warnings", details(c.Warnings), nil)
		train, test, ok, err := c.Split()
		if err != nil || !ok || c.Format != LEAR {
			t.Errorf("%s: format %s, split %v, %v", name, c.Format, ok, err)
		}
		equal(t, name+": train", listing(train), learItems[:3])
		equal(t, name+": test", listing(test), learItems[3:])
	}
	c := opened(t, folder(t, with(learFiles(t), SplitName, "path,split\nimages/1000/1000.jpeg,test\nimages/1000/1001.jpeg,train\nimages/2000/1000.jpeg,train\nimages/2000/2000.jpeg,train\n")))
	if _, test, ok, err := c.Split(); !ok || err != nil || len(test) != 1 || test[0].Name != "images/1000/1000.jpeg" {
		t.Errorf("%v, %v, %v", listing(test), ok, err)
	}
}

func without(files map[string]string, name string) map[string]string {
	out := with(files)
	delete(out, name)
	return out
}

func TestDamagedLEAR(t *testing.T) {
	whole := learFiles(t)
	const pack = "corel5k.20091111/corel5k"
	rows := whole[pack+"_train_annot.hvecs"]
	for _, tc := range []struct {
		name     string
		files    map[string]string
		items    []string
		warnings []string
	}{
		{"cut within a row", with(whole, pack+"_train_annot.hvecs", rows[:13]), []string{learItems[0], learItems[3]},
			[]string{"malformed-row " + pack + "_train_annot.hvecs: row 2: it ends within the row; this row and the rest are left out", "note corel5k: 2 photos of the folder in neither list"}},
		{"cut within a head", with(whole, pack+"_train_annot.hvecs", rows[:9]), []string{learItems[0], learItems[3]},
			[]string{"malformed-row " + pack + "_train_annot.hvecs: row 2: it ends within the row; this row and the rest are left out", "note corel5k: 2 photos of the folder in neither list"}},
		{"rows missing", with(whole, pack+"_train_annot.hvecs", rows[:8]), []string{learItems[0], learItems[3]},
			[]string{"malformed-row " + pack + "_train_annot.hvecs: it ends before the photo of line 2 of corel5k_train_list.txt; this photo and the rest are left out", "note corel5k: 2 photos of the folder in neither list"}},
		{"rows to spare", with(whole, pack+"_train_annot.hvecs", rows+rows), learItems,
			[]string{"malformed-row " + pack + "_train_annot.hvecs: it has more rows than corel5k_train_list.txt has lines; the extra rows are left out"}},
		{"another head", with(whole, pack+"_train_annot.hvecs", rows[:8]+hvecs(2, []int{0})+rows[16:]), []string{learItems[0], learItems[3]},
			[]string{"malformed-row " + pack + "_train_annot.hvecs: row 2: the number of words differs: the row is for 2 words; this row and the rest are left out", "note corel5k: 2 photos of the folder in neither list"}},
		{"a photo gone, one twice, a line empty", with(without(whole, "images/1000/1001.jpeg"), pack+"_train_list.txt", "1000/1000\n1000/1001\n1000/1000\n",
			pack+"_test_list.txt", "\n"), learItems[:1],
			[]string{"missing-file 1000/1001: corel5k_train_list.txt line 2", "duplicate-path images/1000/1000.jpeg: corel5k_train_list.txt line 3",
				"malformed-row " + pack + "_test_list.txt: line 1 is empty", "note corel5k: 2 photos of the folder in neither list"}},
		{"photos that cannot be told apart", with(whole, pack+"_train_list.txt", "1000\n1000/1001\n2000/1000\n"), learItems[1:],
			[]string{"missing-file 1000: corel5k_train_list.txt line 1: several photos have this name", "note corel5k: 1 photo of the folder in neither list"}},
		{"a word without a name", with(whole, pack+"_dictionary.txt", "sky\n\nsand\n"), []string{learItems[0], learItems[2], "images/2000/2000.jpeg: sand"},
			[]string{"bad-keyword images/1000/1001.jpeg: corel5k_train_list.txt line 2: word 2 has no name in " + pack + "_dictionary.txt",
				"no-keywords images/1000/1001.jpeg: corel5k_train_list.txt line 2",
				"bad-keyword images/2000/2000.jpeg: corel5k_test_list.txt line 1: word 2 has no name in " + pack + "_dictionary.txt"}},
		{"no words of a photo", with(whole, pack+"_test_annot.hvecs", hvecs(3, nil)), learItems[:3], []string{"no-keywords images/2000/2000.jpeg: corel5k_test_list.txt line 1"}},
		{"out of the folder", with(whole, pack+"_test_list.txt", "../../2000/\x1b[2J2000\n"), learItems[:3],
			[]string{`missing-file "../../2000/\x1b[2J2000": corel5k_test_list.txt line 1`, "note corel5k: 1 photo of the folder in neither list"}},
		{"half a pack", without(without(whole, pack+"_test_list.txt"), pack+"_test_annot.hvecs"), learItems[:3],
			[]string{"missing-file " + pack + "_test_list.txt: the half test is left out", "note corel5k: 1 photo of the folder in neither list"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := opened(t, folder(t, tc.files))
			equal(t, "items", listing(c.Photos), tc.items)
			equal(t, "warnings", details(c.Warnings), tc.warnings)
		})
	}
	for want, files := range map[string]map[string]string{
		"corel5k_dictionary.txt, which explains the annotations, is missing":    without(whole, pack+"_dictionary.txt"),
		"the row is for 3 words, while " + pack + "_dictionary.txt has 2 words": with(whole, pack+"_dictionary.txt", "sky\nsea\n"),
		"_dictionary.txt names no word":                                         with(whole, pack+"_dictionary.txt", "\n"),
		"opening " + pack + "_train_list.txt":                                   without(whole, pack+"_train_list.txt"),
		"opening " + pack + "_test_annot.hvecs":                                 without(whole, pack+"_test_annot.hvecs"),
	} {
		if _, err := Open(t.Context(), folder(t, files), Options{}); !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("want %q and a hint in %v", want, err)
		}
	}
	c := opened(t, folder(t, with(whole, pack+"_test_list.txt", "1000/1000\n")))
	if _, _, ok, err := c.Split(); ok || !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "images/1000/1000.jpeg is in both halves") {
		t.Errorf("%v, %v", ok, err)
	}
}

// Complete rows round-trip and take no more memory than the dictionary.
func FuzzHvecs(f *testing.F) {
	f.Add([]byte(hvecs(3, []int{0, 2}, nil, []int{1})), 3)
	f.Add([]byte(hvecs(1, []int{0}))[:3], 1)
	f.Add([]byte("\xff\xff"), 65535)
	f.Fuzz(func(t *testing.T, data []byte, words int) {
		words = max(1, min(words, 1<<16))
		v := &hvecsReader{r: bytes.NewReader(data), dimension: words}
		var rows [][]int
		for {
			set, err := v.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				checkPrintable(t, []Warning{*newWarning(Malformed, "a", "%v", err)})
				break
			}
			if !slices.IsSorted(set) || len(set) > 0 && (set[0] < 0 || set[len(set)-1] >= words) {
				t.Fatalf("row %v of %d words", set, words)
			}
			rows = append(rows, set)
		}
		if size := len(rows) * 2 * (words + 1); size > len(data) {
			t.Fatalf("%d rows from %d bytes", len(rows), len(data))
		}
		again := &hvecsReader{r: strings.NewReader(hvecs(words, rows...)), dimension: words}
		for i, want := range rows {
			if got, err := again.next(); err != nil || !slices.Equal(got, want) {
				t.Fatalf("row %d: %v, %v; want %v", i, got, err, want)
			}
		}
	})
}

func TestPathIndexFindsLongestSuffix(t *testing.T) {
	p := newPathIndex(map[string]string{"a/x": "a/x.jpg", "b/x": "b/x.JPG", "b/c/y": "b/c/y.png"})
	for named, want := range map[string]string{"x": "several", "a/x": "a/x.jpg", "q/b/x.jpg": "b/x.JPG", "y": "b/c/y.png", "z/y.gif": "b/c/y.png", "z": "", "": "", "/": "", "..": "", "a/../b/x": "b/x.JPG"} {
		name, several := p.find(named)
		if several {
			name = "several"
		}
		if name != want {
			t.Errorf("%q: %q, want %q", named, fmt.Sprint(name), want)
		}
	}
}

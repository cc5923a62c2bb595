package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func openImagesFiles(t testing.TB) map[string]string {
	jpg := string(plainJPEG(t))
	return map[string]string{
		"oidv7-class-descriptions.csv":                        "LabelName,DisplayName\n/m/0bt9lr,Dog\n/m/04hgtk,Human head\n/m/07j7r,Tree\n/g/11bc,\"Bread, sliced\"\n",
		"class-descriptions-boxable.csv":                      "/m/0bt9lr,Dog\n/m/09j2d,Clothing\n",
		"oidv7-train-annotations-human-imagelabels.csv":       "ImageID,Source,LabelName,Confidence\n000026e7ee790996,verification,/m/0bt9lr,1\n000026e7ee790996,verification,/m/04hgtk,0\nffff000000000000,verification,/m/07j7r,1\n000026e7ee790996,crowdsource-verification,/m/07j7r,1.0\n000026e7ee790996,crowdsource-verification,/m/0bt9lr,1\n",
		"train-annotations-human-imagelabels-boxable.csv":     "ImageID,Source,LabelName,Confidence\n000026e7ee790996,verification,/m/09j2d,1\n",
		"labels/validation-annotations-human-imagelabels.csv": "LabelName,Confidence,ImageID,Source\r\n/g/11bc,1,0001eeaf4aed83f9,verification\r\n",
		"test-annotations-human-imagelabels-boxable.csv":      "ImageID,Source,LabelName,Confidence\n",
		"train-annotations-machine-imagelabels.csv":           "ImageID,Source,LabelName,Confidence\n000026e7ee790996,machine,/m/04hgtk,1\n",
		"train/000026e7ee790996.jpg":                          jpg,
		"validation/0001eeaf4aed83f9.jpg":                     jpg,
		"validation/no-label.jpg":                             jpg,
	}
}

var (
	openImagesItems = []string{"train/000026e7ee790996.jpg: Dog;Tree;Clothing", "validation/0001eeaf4aed83f9.jpg: Bread, sliced"}
	openImagesNotes = []string{"note annotations-human-imagelabels: 1 photo without a row in these tables", "note annotations-human-imagelabels: 1 row of photos that are not here"}
)

func TestOpenOpenImages(t *testing.T) {
	for _, place := range []string{"", "openimages/"} {
		c, err := Open(t.Context(), folder(t, at(place, openImagesFiles(t))), Options{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "items", listing(c.Photos), []string{place + openImagesItems[0], place + openImagesItems[1]})
		equal(t, "warnings", details(c.Warnings), openImagesNotes)
		train, test, ok, err := c.Split()
		if c.Format != OpenImages || !ok || err != nil || len(train) != 1 || len(test) != 1 {
			t.Errorf("%s, %d and %d, %v", c.Format, len(train), len(test), err)
		}
	}
}

func TestDamagedOpenImages(t *testing.T) {
	whole := openImagesFiles(t)
	const table = "oidv7-train-annotations-human-imagelabels.csv"
	const id, first = "000026e7ee790996", "000026e7ee790996,verification,"
	boxed := "train/000026e7ee790996.jpg: Clothing"
	for _, tc := range []struct {
		name, rows, item string
		warnings         []string
	}{
		{"rows that are none", "ImageID,Source,LabelName,Confidence\n" + first + "/m/0bt9lr\n" + first + "/m/0bt9lr,yes\n\"" + id + "\n", boxed,
			[]string{"malformed-row " + table + ": line 2: 3 columns but 4 are needed", "malformed-row " + table + ": line 3: yes is not a confidence",
				`malformed-row ` + table + `: line 4: extraneous or missing " in quoted-field`}},
		{"half sure", "ImageID,Source,LabelName,Confidence\n" + first + "/m/0bt9lr,0.9\n", boxed, nil},
		{"no name", "\ufeffImageID,Source,LabelName,Confidence\n" + first + "/m/0zzz\x1b,1\n" + first + "/m/07j7r,1\n", "train/000026e7ee790996.jpg: Tree;Clothing",
			[]string{`bad-keyword train/000026e7ee790996.jpg: ` + table + ` line 2: label "/m/0zzz\x1b" has no name in class-descriptions`}},
		{"empty", "", boxed, nil},
		{"no header", first + "/m/0bt9lr,1\n" + first + "/m/07j7r,1\n", boxed, []string{"malformed-row " + table + ": line 1: no header with ImageID, LabelName and Confidence; the table is left out"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := opened(t, folder(t, with(whole, table, tc.rows)))
			equal(t, "items", listing(c.Photos), []string{tc.item, openImagesItems[1]})
			equal(t, "warnings", details(c.Warnings), append(tc.warnings, openImagesNotes[0]))
		})
	}
	_, err := Open(t.Context(), folder(t, without(without(whole, "oidv7-class-descriptions.csv"), "class-descriptions-boxable.csv")), Options{})
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "class-descriptions.csv, which explains the labels of Open Images, is missing") || hint.Of(err) == "" {
		t.Errorf("without descriptions: %v", err)
	}
	c := opened(t, folder(t, with(whole, "test-annotations-human-imagelabels-boxable.csv", "ImageID,Source,LabelName,Confidence\n"+first+"/m/07j7r,1\n",
		"validation/000026e7ee790996.png", "twice")))
	equal(t, "warnings", details(c.Warnings)[:1], []string{"duplicate-path validation/000026e7ee790996.png: train/000026e7ee790996.jpg is the same photo"})
	if _, _, ok, err := c.Split(); ok || !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "in both halves") {
		t.Errorf("%v, %v", ok, err)
	}
}

// Labels of available photos must be distinct and messages printable.
func FuzzOpenImages(f *testing.F) {
	for name, s := range openImagesFiles(f) {
		if strings.HasSuffix(name, ".csv") {
			f.Add([]byte(s))
		}
	}
	f.Add([]byte("ImageID,LabelName,,,Confidence\n,,,"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, "train.csv"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		r := &reading{Collection: &Collection{}, ctx: t.Context(), root: root}
		o := &openImages{reading: r, words: map[string]string{}, labels: map[string]*openImagesLabels{}, photos: map[string]string{"000026e7ee790996": "a.jpg"}}
		if err := o.readLabels("train.csv"); err != nil {
			t.Fatal(err)
		}
		checkPrintable(t, o.Warnings)
		if len(o.labels) > 1 {
			t.Fatalf("%d photos", len(o.labels))
		}
		for _, l := range o.labels {
			seen := map[string]bool{}
			for _, name := range l.names {
				if seen[name] {
					t.Fatalf("%q twice", name)
				}
				seen[name] = true
			}
		}
	})
}

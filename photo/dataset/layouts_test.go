package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/internal/testing/oracle"
	"cpar/photo/metadata"
)

func TestCorelThroughLayouts(t *testing.T) {
	whole := opened(t, oracle.Path(t, "data/corel5k"))
	for format, write := range map[Format]func(*testing.T, string, *Collection){LEAR: writeLEAR, COCO: writeCOCO, Embedded: writeTree} {
		t.Run(string(format), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, whole)
			c, err := Open(t.Context(), dir, Options{Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			if c.Format != format || len(c.Warnings) > 0 {
				t.Errorf("format %s, %s", c.Format, c.Summary())
			}
			equal(t, "items", unordered(c.Photos), unordered(whole.Photos))
			if format == Embedded {
				return // the layout has no halves
			}
			train, test, _, err := c.Split()
			wantTrain, wantTest, _, _ := whole.Split()
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "train", unordered(train), unordered(wantTrain))
			equal(t, "test", unordered(test), unordered(wantTest))
		})
	}
}

func unordered(items []Photo) []string {
	var out []string
	for _, it := range items {
		out = append(out, path.Base(it.Name)+": "+strings.Join(slices.Sorted(slices.Values(it.Keywords)), separator))
	}
	slices.Sort(out)
	return out
}

func link(t *testing.T, it Photo, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Link(it.Path, to) == nil {
		return
	}
	copyTo(t, it, to)
}

func copyTo(t *testing.T, it Photo, to string) {
	t.Helper()
	b, err := os.ReadFile(it.Path)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func save(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func vocabulary(items []Photo) []string {
	var words []string
	for _, it := range items {
		words = append(words, it.Keywords...)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func writeLEAR(t *testing.T, dir string, whole *Collection) {
	words := vocabulary(whole.Photos)
	save(t, filepath.Join(dir, "corel5k_dictionary.txt"), []byte(strings.Join(words, "\n")+"\n"))
	train, test, _, _ := whole.Split()
	for half, items := range map[string][]Photo{splitTrain: train, splitTest: test} {
		var list bytes.Buffer
		var rows [][]int
		for _, it := range items {
			stem := strings.TrimSuffix(path.Base(it.Name), ".jpeg")
			folder := stem[:len(stem)-1] + "0" // Corel groups photos into folders
			fmt.Fprintf(&list, "%s/%s\n", folder, stem)
			link(t, it, filepath.Join(dir, "images", folder, stem+".jpeg"))
			var set []int
			for _, k := range it.Keywords {
				i, _ := slices.BinarySearch(words, k)
				set = append(set, i)
			}
			rows = append(rows, set)
		}
		save(t, filepath.Join(dir, "corel5k_"+half+"_list.txt"), list.Bytes())
		save(t, filepath.Join(dir, "corel5k_"+half+"_annot.hvecs"), []byte(hvecs(len(words), rows...)))
	}
}

func writeCOCO(t *testing.T, dir string, whole *Collection) {
	words := vocabulary(whole.Photos)
	train, test, _, _ := whole.Split()
	for set, items := range map[string][]Photo{"train2017": train, "val2017": test} {
		type m map[string]any
		var images, annotations, categories []m
		for i, w := range words {
			categories = append(categories, m{"id": i + 1, "name": w, "supercategory": "corel"})
		}
		for i, it := range items {
			images = append(images, m{"id": i, "file_name": path.Base(it.Name), "width": 192, "height": 128})
			link(t, it, filepath.Join(dir, set, path.Base(it.Name)))
			for _, k := range it.Keywords {
				at, _ := slices.BinarySearch(words, k)
				annotations = append(annotations, m{"id": len(annotations), "image_id": i, "category_id": at + 1, "segmentation": [][]float64{{1, 2.5, 3}}})
			}
		}
		b, err := json.Marshal(m{"info": m{"year": 2017}, "images": images, "annotations": annotations, "categories": categories})
		if err != nil {
			t.Fatal(err)
		}
		save(t, filepath.Join(dir, instancesFolder, instancesStart+set+".json"), b)
	}
}

func writeTree(t *testing.T, dir string, whole *Collection) {
	for i, it := range whole.Photos {
		to, where := filepath.Join(dir, path.Base(it.Name)), metadata.Embedded
		if i%2 == 0 {
			copyTo(t, it, to)
		} else {
			where = metadata.Sidecar
			link(t, it, to)
		}
		edit, err := metadata.Plan(to, where, metadata.Append, metadata.Change{Add: it.Keywords})
		if err != nil {
			t.Fatal(err)
		}
		content := edit.New
		if where == metadata.Embedded {
			old, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			content = slices.Concat(edit.New, old[len(edit.Old):])
		}
		save(t, edit.Path, content) // avoids Apply, which waits for the disk
	}
}

package dataset

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"runtime"
	"strings"
	"testing"
)

func cocoFiles(t testing.TB) map[string]string {
	jpg := string(plainJPEG(t))
	const categories = `"categories": [{"supercategory": "person","id": 1,"name": "person"},{"supercategory": "kitchen","id": 51,"name": "bowl"},{"supercategory": "outdoor","id": 10,"name": "traffic light"}]`
	return map[string]string{
		"annotations/instances_train2017.json": `{"info": {"description": "COCO 2017 Dataset","year": 2017},"licenses": [{"id": 1,"name": "x"}],
			"images": [{"license": 3,"file_name": "000000000009.jpg","height": 480,"width": 640,"id": 9},{"file_name": "000000000025.jpg","id": 25}],
			"annotations": [{"segmentation": [[500.49,473.53,599.73]],"area": 1.5,"iscrowd": 0,"image_id": 9,"bbox": [1,2,3,4],"category_id": 51,"id": 1},
				{"segmentation": {"counts": [1,2],"size": [3,4]},"iscrowd": 1,"image_id": 25,"category_id": 10,"id": 2},
				{"image_id": 9,"category_id": 1,"id": 3},{"image_id": 9,"category_id": 51,"id": 4}],` + categories + `}`,
		"annotations/instances_val2017.json":        `{"annotations": [{"image_id": "a","category_id": "1"}],` + strings.ReplaceAll(categories, `"id": 1,`, `"id": "1",`) + `,"images": [{"id": "a","file_name": "000000000139.jpg"}]}`,
		"annotations/captions_train2017.json":       `{"annotations": [{"image_id": 9,"caption": "a bowl"}]}`,
		"annotations/person_keypoints_val2017.json": `{}`,
		"train2017/000000000009.jpg":                jpg,
		"train2017/000000000025.jpg":                jpg,
		"val2017/000000000139.jpg":                  jpg,
	}
}

var cocoItems = []string{"train2017/000000000009.jpg: bowl;person", "train2017/000000000025.jpg: traffic light", "val2017/000000000139.jpg: person"}

func TestOpenCOCO(t *testing.T) {
	for _, place := range []string{"", "coco/"} {
		c, err := Open(t.Context(), folder(t, at(place, cocoFiles(t))), Options{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, item := range cocoItems {
			want = append(want, place+item)
		}
		equal(t, "items", listing(c.Photos), want)
		train, test, ok, err := c.Split()
		if c.Format != COCO || len(c.Warnings) > 0 || !ok || err != nil || len(train) != 2 || len(test) != 1 {
			t.Errorf("%s, %v, %d and %d, %v", c.Format, c.Warnings, len(train), len(test), err)
		}
	}
	files := map[string]string{}
	for name, content := range cocoFiles(t) {
		files[strings.Replace(name, "train2017/", "images/train2017/", 1)] = content
	}
	delete(files, "val2017/000000000139.jpg")
	c := opened(t, folder(t, files))
	equal(t, "items", listing(c.Photos), []string{"images/" + cocoItems[0], "images/" + cocoItems[1]})
	if _, _, ok, err := c.Split(); ok || err != nil {
		t.Errorf("one half was split: %v", err)
	}
}

func TestDamagedCOCO(t *testing.T) {
	whole := cocoFiles(t)
	const file, name = "annotations/instances_train2017.json", "instances_train2017.json"
	train := whole[file]
	val := cocoItems[2:]
	unreadable := func(why string) []string {
		return []string{"unreadable-file " + file + ": " + why + "; the entries before it are kept"}
	}
	for _, tc := range []struct {
		name     string
		content  string
		items    []string
		warnings []string
	}{
		{"cut", train[:strings.Index(train, `{"image_id": 9,"category_id": 1,`)], val, append(unreadable("annotations: its JSON ends too early"),
			"bad-keyword train2017/000000000009.jpg: "+name+": category 51 has no name", "no-keywords train2017/000000000009.jpg: "+name,
			"bad-keyword train2017/000000000025.jpg: "+name+": category 10 has no name", "no-keywords train2017/000000000025.jpg: "+name)},
		{"empty", "", val, unreadable("its JSON ends too early")},
		{"another thing", `[1,2]`, val, unreadable("its JSON is damaged: [ where { belongs")},
		{"lists that are none", `{"info": [[[{"a": []}]]], "images": {"a": 1}}`, val, unreadable("images: its JSON is damaged: { where [ belongs")},
		{"garbage", "{\"images\": [{\"id\": 9}, \x1b[2J", val, append(unreadable(`images: its JSON is damaged: invalid character '\x1b' looking for beginning of value`),
			"malformed-row "+name+": photo 9 has objects and no file_name")},
		{"no photos", strings.Replace(train, `"images"`, `"pictures"`, 1), val, []string{"malformed-row " + name + ": photo 9 has objects and no file_name", "malformed-row " + name + ": photo 25 has objects and no file_name"}},
		{"outside", strings.NewReplacer("000000000009.jpg", "../../secret.jpg", "000000000025.jpg", "/etc/passwd").Replace(train), val,
			[]string{"outside-collection ../../secret.jpg: " + name, "no-keywords train2017/etc/passwd"}},
		{"twice, gone, control", strings.NewReplacer("000000000009.jpg", `000000000025.jpg`, `{"file_name": "000000000025.jpg","id": 25}`,
			`{"file_name": "000000000025.jpg","id": 25},{"id": 26,"file_name": "a\u001b.jpg"},{"id": 27,"file_name": "gone.jpg"},{"id": 28,"file_name": "000000000009.jpg"}`, `{"image_id": 9,"category_id": 1,"id": 3}`, `{"image_id": 27,"category_id": 1}`).Replace(train),
			[]string{"train2017/000000000025.jpg: bowl", val[0]},
			[]string{"duplicate-path train2017/000000000025.jpg: " + name, `malformed-row "train2017/a\x1b.jpg": ` + name + ": the name contains a control character",
				"no-keywords train2017/000000000009.jpg: " + name, "missing-file train2017/gone.jpg: " + name}},
		{"a large element", `{"images": [{"id": 9, "file_name": "` + strings.Repeat("x", 2*maxElement) + `"}]}`, val, unreadable("images: one element has more than 8388608 bytes")},
		{"a large value", `{"info": "` + strings.Repeat("x", 2*maxElement) + `"}`, val, unreadable("one element has more than 8388608 bytes")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := opened(t, folder(t, with(whole, file, tc.content)))
			equal(t, "items", listing(c.Photos), tc.items)
			if tc.name == "outside" {
				tc.warnings[1] = "missing-file train2017/etc/passwd: " + name
			}
			equal(t, "warnings", details(c.Warnings), tc.warnings)
		})
	}
	c := opened(t, folder(t, without(whole, "val2017/000000000139.jpg")))
	equal(t, "without a folder of photos", details(c.Warnings), []string{"missing-file val2017: the photo folder of instances_val2017.json; photos left out: 1"})

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, folder(t, whole), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

type outlines struct {
	left int
	end  bool
}

func (o *outlines) Read(b []byte) (int, error) {
	const one = `{"segmentation": [[500.49,473.53,599.73,419.6,612.67,375.37,608.36,354.88]],"image_id": 9,"category_id": 51},`
	switch {
	case o.left > 0 && len(b) >= len(one):
		o.left -= len(one)
		return copy(b, one), nil
	case o.left > 0:
		return 0, errors.New("a short buffer")
	case !o.end:
		o.end = true
		return copy(b, `{"image_id": 9,"category_id": 51}]}`), nil
	}
	return 0, io.EOF
}

func TestCOCOIsStreamed(t *testing.T) {
	const size = 32 << 20
	in := newInstances()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := io.MultiReader(strings.NewReader(`{"annotations": [`), bufio.NewReaderSize(&outlines{left: size}, 1<<16))
	if err := in.read(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if after.HeapSys > before.HeapSys+size/4 {
		t.Errorf("the heap grew by %d bytes", after.HeapSys-before.HeapSys)
	}
	if len(in.photos) != 1 || len(in.photos["9"].categories) != 1 {
		t.Errorf("%d photos", len(in.photos))
	}
}

// Categories must be distinct and messages printable.
func FuzzCOCO(f *testing.F) {
	for _, s := range cocoFiles(f) {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"images": [{"id": {"a": 1}, "file_name": "../x"}, null, 3]}`))
	f.Add([]byte(`{"a": [[[[[[1,2,{"b": "c"}]]]]]], "categories": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := newInstances()
		if err := in.read(t.Context(), strings.NewReader(string(data))); err != nil {
			checkPrintable(t, []Warning{*newWarning(Unreadable, "a.json", "%v", err)})
		}
		if len(in.order) != len(in.photos) || len(in.photos)+len(in.words) > len(data) {
			t.Fatalf("%d photos, %d words from %d bytes", len(in.photos), len(in.words), len(data))
		}
		for _, p := range in.photos {
			seen := map[cocoID]bool{}
			for _, category := range p.categories {
				if seen[category] {
					t.Fatalf("category %q twice", category)
				}
				seen[category] = true
			}
		}
		c := &reading{Collection: &Collection{}, halves: map[string]string{}}
		c.instances(in, "train2017", splitTrain, "a.json")
		checkPrintable(t, c.Warnings)
		for _, r := range c.rows {
			checkKeywords(t, r.keywords)
			if !strings.HasPrefix(r.name, "train2017/") || strings.Contains("/"+r.name+"/", "/../") {
				t.Fatalf("name %q", r.name)
			}
		}
		for name := range maps.Keys(c.halves) {
			if _, bad := firstForbidden(name); bad {
				t.Fatalf("name %q", name)
			}
		}
	})
}

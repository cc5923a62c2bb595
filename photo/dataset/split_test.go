package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
)

func TestSplit(t *testing.T) {
	const manifest = "path,keywords\na.jpg,1\nb.jpg,2\nc.jpg,3\nd.jpg,4\n"
	for _, tc := range []struct {
		name, split string
		train, test []string
		warnings    []string
		err         string
	}{
		{name: "plain", split: "path,split\na.jpg,train\nb.jpg, TEST \n./c.jpg,train\nd.jpg,train\n", train: []string{"a.jpg: 1", "c.jpg: 3", "d.jpg: 4"}, test: []string{"b.jpg: 2"}},
		{name: "gap and stranger", split: "\xef\xbb\xbfpath,split\r\na.jpg,train\r\nb.jpg,test\r\nx.jpg,test\r\nd.jpg,test\r\nd.jpg,test\r\n",
			train: []string{"a.jpg: 1"}, test: []string{"b.jpg: 2", "d.jpg: 4"}, warnings: []string{"split-mismatch c.jpg"}},
		{name: "both", split: "path,split\na.jpg,train\na.jpg,test\n", err: "line 3 says test, line 2 said train"},
		{name: "unknown", split: "path,split\na.jpg,validation\n", err: `a.jpg: line 2: "validation" is neither train nor test`},
		{name: "columns", split: "path,split\na.jpg\n", err: "line 2: 1 columns where the header has 2"},
		{name: "outside", split: "path,split\n../a.jpg,train\n", err: "../a.jpg"},
		{name: "header", split: "a.jpg,train\n", err: "no header"},
		{name: "empty", split: "", err: "split.csv is empty"},
		{name: "one half", split: "path,split\na.jpg,train\nb.jpg,train\nc.jpg,train\nd.jpg,train\n", err: "leaves 4 images to train and 0 to test on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := folder(t, map[string]string{ManifestName: manifest, SplitName: tc.split, "a.jpg": "p", "b.jpg": "p", "c.jpg": "p", "d.jpg": "p"})
			c := opened(t, dir)
			train, test, ok, err := c.Split()
			if tc.err != "" {
				if ok || !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error()+"\n"+hint.Of(err), tc.err) || hint.Of(err) == "" {
					t.Errorf("want %q and a hint in %v", tc.err, err)
				}
				if len(c.Photos) != 4 {
					t.Errorf("a damaged split left %d items", len(c.Photos))
				}
				return
			}
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			equal(t, "train", listing(train), tc.train)
			equal(t, "test", listing(test), tc.test)
			equal(t, "warnings", kindsOf(c.Warnings), tc.warnings)
		})
	}
	strictDir := folder(t, map[string]string{ManifestName: manifest, SplitName: "path,split\na.jpg,x\n", "a.jpg": "p", "b.jpg": "p", "c.jpg": "p", "d.jpg": "p"})
	if _, err := Open(t.Context(), strictDir, Options{Strict: true}); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a damaged split passed strictly: %v", err)
	}
	c := opened(t, manifestFolder(t, manifest, "a.jpg"))
	if train, test, ok, err := c.Split(); ok || err != nil || train != nil || test != nil {
		t.Error("a collection without split.csv was split")
	}
}

func TestHeldOut(t *testing.T) {
	whole := &Collection{}
	for i := range 3000 {
		whole.Photos = append(whole.Photos, Photo{Name: fmt.Sprintf("images/%d.jpg", i)})
	}
	train, test := HeldOut(whole, 10)
	if len(train)+len(test) != 3000 || len(test) < 250 || len(test) > 350 {
		t.Fatalf("%d and %d", len(train), len(test))
	}
	inTest := map[string]bool{}
	for _, it := range test {
		inTest[it.Name] = true
	}
	part := &Collection{Photos: slices.Clone(whole.Photos[:1500])}
	slices.Reverse(part.Photos)
	train, test = HeldOut(part, 10)
	for _, it := range test {
		if !inTest[it.Name] {
			t.Errorf("%s moved to test", it.Name)
		}
	}
	for _, it := range train {
		if inTest[it.Name] {
			t.Errorf("%s moved to train", it.Name)
		}
	}
	for n := range 30 {
		for _, every := range []int{2, 10, 1000} {
			train, test = HeldOut(&Collection{Photos: whole.Photos[:n]}, every)
			if len(train)+len(test) != n || n >= 2 && (len(train) == 0 || len(test) == 0) {
				t.Errorf("%d items, one in %d: %d and %d", n, every, len(train), len(test))
			}
		}
		// A plain hash would sometimes hold out both of a pair or neither.
		if train, test = HeldOut(&Collection{Photos: whole.Photos[n : n+2]}, 2); len(train) != 1 || len(test) != 1 {
			t.Errorf("items %d and %d: %d and %d", n, n+1, len(train), len(test))
		}
		if train, test = HeldOut(&Collection{Photos: whole.Photos[:n]}, 1); len(train) != n || len(test) != 0 {
			t.Errorf("one in 1 of %d: %d and %d", n, len(train), len(test))
		}
	}
}

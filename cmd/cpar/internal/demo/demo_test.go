package demo

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar/model/rank"
	"cpar/photo/dataset"
)

func TestNeedlesFindWhatIsThere(t *testing.T) {
	n := newNeedles([]string{"mountain", "mountains", "sky", "lighthouse", "mountain", "request", "photos/Größe.jpg"})
	if n.count != 4 {
		t.Errorf("%d words are searched for, want 4: short ones, doubles and the log's own are not", n.count)
	}
	n.search([]byte("sky request mount ain lighthous"))
	n.search(nil)
	if got := n.found(); len(got) > 0 {
		t.Errorf("found %q", got)
	}
	n.search([]byte("xxmountains"))
	n.search([]byte("photos/Größe.jpg"))
	if got, want := n.found(), []string{"mountain", "mountains", "photos/Größe.jpg"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestSpreadChoosesFromEverywhere(t *testing.T) {
	items := make([]dataset.Photo, 499)
	for i := range items {
		items[i].Path = string(rune(i))
	}
	for _, n := range []int{1, 2, 3, 16, 499, 1000} {
		got := spread(items, n)
		seen := map[string]bool{}
		for _, it := range got {
			seen[it.Path] = true
		}
		if len(got) != min(n, len(items)) || len(seen) != len(got) {
			t.Errorf("%d of %d: %d items, %d different", n, len(items), len(got), len(seen))
		}
	}
	for i, it := range spread(items, 16) {
		if at := int([]rune(it.Path)[0]); at != i*499/16 {
			t.Errorf("item %d of the choice is item %d of the list", i, at)
		}
	}
}

func TestFiguresForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Duration(0.034), "0.03 ms"}, {Duration(8.4), "8.40 ms"}, {Duration(534.2), "534 ms"},
		{Duration(28_560), "28.6 s"}, {Duration(74.78 * 60_000), "74.8 min"},
		{Bytes(488), "488 B"}, {Bytes(11_216), "11.2 kB"}, {Bytes(86_000_000), "86.0 MB"},
		{count(360), "360"}, {count(20_000), "20,000"}, {count(1_234_567), "1,234,567"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	if got := wrap("of these all", 5, "  "); got != "of\n  these\n  all" {
		t.Errorf("wrapped %q", got)
	}
}

func TestNoiseHoldsEveryByte(t *testing.T) {
	request := make([]byte, 1001)
	for i := range request {
		request[i] = byte(i * 7)
	}
	p := noise(request, picture{Width: 256, Height: 192})
	img, err := png.Decode(bytes.NewReader(decodeURI(t, p.URL, "image/png")))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range request {
		if r, _, _, _ := img.At(i%p.Width, i/p.Width).RGBA(); byte(r>>8) != b {
			t.Fatalf("pixel %d is %d, byte %d", i, r>>8, b)
		}
	}
	if p.Width%2 == 0 {
		t.Errorf("a width of %d makes stripes", p.Width)
	}
	if ratio := float64(p.Width) / float64(p.Height); ratio < 1.2 || ratio > 1.5 {
		t.Errorf("a noise picture of %dx%d beside one of 4:3", p.Width, p.Height)
	}
	noise(nil, picture{})
}

func TestPicturesAreScaledAndUpright(t *testing.T) {
	// Left half red, right half blue, 400x100, with an EXIF orientation of 6.
	img := image.NewRGBA(image.Rect(0, 0, 400, 100))
	for y := range 100 {
		for x := range 400 {
			c := color.RGBA{255, 0, 0, 255}
			if x >= 200 {
				c = color.RGBA{0, 0, 255, 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	exif := "\xff\xe1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	turned := filepath.Join(t.TempDir(), "turned.jpg")
	if err := os.WriteFile(turned, slices.Concat(b.Bytes()[:2], []byte(exif), b.Bytes()[2:]), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := loadPicture(turned, 100)
	if err != nil {
		t.Fatal(err)
	}
	if p.Width != 25 || p.Height != 100 {
		t.Fatalf("a picture of %dx%d, want 25x100", p.Width, p.Height)
	}
	small, err := jpeg.Decode(bytes.NewReader(decodeURI(t, p.URL, "image/jpeg")))
	if err != nil {
		t.Fatal(err)
	}
	// Turned clockwise, left comes to the top.
	if r, _, b, _ := small.At(12, 10).RGBA(); r < b {
		t.Error("the top is not what was left")
	}
}

func TestPageEscapes(t *testing.T) {
	evil := `<script>alert("x")</script>`
	said := func(profile string) Suggestion {
		return *newSuggestion(profile, []rank.Keyword{{Word: evil}, {Word: "wrong"}}, []string{evil, "missed", "late"})
	}
	found := marked([]rank.Keyword{{Word: evil, Weight: 1, Probability: 0.9}, {Word: "wrong", Probability: 0.3}}, []string{evil})
	r := &Result{Collection: evil, Photos: []Photo{{Name: evil, Title: evil, Truth: []string{evil, "missed"}}},
		HeldOut:  []HeldOut{{Name: evil, Truth: []string{evil, "missed", "late"}, Suggestions: []Suggestion{said("paper"), said("learned")}}},
		Profiles: []Profile{{Name: "one way", Photos: 1}, {Name: evil, Photos: 1, Sent: 10_900}},
		LeftOut:  []LeftOut{{"network", evil}}, Chosen: "learned",
		Schemes: []Scheme{{Name: hero, Count: Count{true, 2, 1, 1, 1}, Sent: 360_488, Learnt: evil}, {Name: "local"}}}
	for _, how := range searches {
		r.Photos[0].Answers = append(r.Photos[0].Answers, Answer{Search: how.name, Keywords: found, Nearest: []rank.Neighbour{{Keywords: []string{evil}}}})
	}
	for i := range r.Profiles {
		r.Profiles[i].add(&r.HeldOut[0].Suggestions[i], r.HeldOut[0].Truth)
	}
	checkPage(t, r, []string{"<b>1 of 3</b> found", "<span>✓</span>&lt;script&gt;", "<span>·</span>wrong", "people wrote:</span> &lt;script&gt;",
		"<b>1.0 of 3.0</b>", "width:33", "<td>–</td><td>1 of 2 by weight</td>", "<td>10.9 kB</td>", "Profile network was left out: &lt;script&gt;", "--model FILE.onnx",
		"the default. Looked at: learnt from your keywords", "for measuring only"})
	// With one profile of painted images there is no comparison.
	r.Profiles, r.HeldOut[0].Suggestions, r.painted = r.Profiles[:1], r.HeldOut[0].Suggestions[:1], true
	checkPage(t, r, []string{"<b>1 of 3</b> found", "finds 1.0 of 3.0 keywords; 1 of 2 suggestions are right", "painted:</span>", "cpar demo --data FOLDER"})
}

func checkPage(t *testing.T, r *Result, more []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := r.WritePage(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "ZgotmplZ", "http:", "https:"} {
		if bytes.Contains(b, []byte(bad)) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, good := range append(more, "✓ &lt;script&gt;", "not among them: missed", "1 of 1 sure keywords are right, 100 %; of the maybes 0 of 1", "<td>1 of 1</td><td>0 of 1</td>", "<td>360 kB</td>", "<td>not asked</td>") {
		if !bytes.Contains(b, []byte(good)) {
			t.Errorf("the page lacks %q", good)
		}
	}
}

func TestKeepRefusesFoldersInUse(t *testing.T) {
	dir := t.TempDir()
	if got, err := workFolder(dir); err != nil || got != dir {
		t.Errorf("an empty folder: %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := workFolder(dir); err == nil {
		t.Error("a folder with a key in it is taken")
	}
}

func decodeURI(t *testing.T, url template.URL, kind string) []byte {
	t.Helper()
	text, ok := strings.CutPrefix(string(url), "data:"+kind+";base64,")
	if !ok {
		t.Fatalf("no %s: %.40s", kind, url)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

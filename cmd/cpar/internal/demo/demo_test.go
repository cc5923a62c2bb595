package demo

import (
	"bytes"
	"encoding/base64"
	"fmt"
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
		{Duration(28_560), "28.6 s"},
		{Bytes(488), "488 B"}, {Bytes(11_216), "11.2 kB"}, {Bytes(86_000_000), "86.0 MB"},
		{count(360), "360"}, {count(20_000), "20,000"}, {count(1_234_567), "1,234,567"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

func TestNoiseDrawsTheBytes(t *testing.T) {
	request := make([]byte, 1001)
	for i := range request {
		request[i] = byte(i * 7)
	}
	p := noise(request, picture{Width: 256, Height: 192})
	img, err := png.Decode(bytes.NewReader(decodeURI(t, p.URL, "image/png")))
	if err != nil {
		t.Fatal(err)
	}
	pixels := p.Width * p.Height
	if pixels > len(request) || pixels <= len(request)-p.Width {
		t.Errorf("%d of %d bytes are drawn", pixels, len(request))
	}
	for i, b := range request[:pixels] {
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
		t.Error("the top is not the former left")
	}
}

func TestPageEscapes(t *testing.T) {
	evil := `<script>alert("x")</script>`
	found := []rank.Keyword{{Word: evil, Weight: 8, Probability: 0.9}, {Word: "wrong", Weight: 5, Probability: 0.3}}
	photo := Photo{Name: evil, Truth: []string{evil, "missed"}, Sent: 360_488, Near: []item{{Photo: dataset.Photo{Keywords: []string{evil}}, Picture: picture{URL: "data:,"}}}}
	photo.Keywords = marked(found, true, 10, photo.Truth)
	r := &Result{Collection: evil, Records: 2, Probable: true, Photos: []Photo{photo}, Painted: true, Saw: CloudView{Log: []string{evil}, Found: []string{evil}, Searched: 1234}}
	checkPage(t, r, "<p class=\"label\">likely</p>", "<small>90 %</small>", "<p class=\"label\">maybe</p>", "<b>1 of 1</b>", "<b>1 of 1,234</b>", "cpar demo --data FOLDER", "at least 50 %")
	// Without probabilities keywords have weights.
	r.Photos[0].Keywords = marked([]rank.Keyword{{Word: evil, Weight: 8}, {Word: "wrong", Weight: 5}}, false, 10, photo.Truth)
	r.Probable, r.Painted = false, false
	checkPage(t, r, "<p class=\"label\">by weight</p>", "<small>8.0</small>", "<b>1 of 2</b>", "which is not a probability", "people wrote: &lt;script&gt;")
}

func checkPage(t *testing.T, r *Result, more ...string) {
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
	for _, good := range append(more, "✓ &lt;script&gt;", "not found: missed", "<b>360 kB</b>", ">wrong<", "title=\"&lt;script&gt;") {
		if !bytes.Contains(b, []byte(good)) {
			t.Errorf("the page lacks %q", good)
		}
	}
}

func groupsOf(keywords []Keyword) (got string) {
	for _, g := range (Photo{Keywords: keywords}).Groups() {
		got += g.Name
		for _, k := range g.Keywords {
			got += fmt.Sprintf(" %s %s %t,", k.Word, k.Figure(), k.Correct)
		}
	}
	return got
}

func TestSureAndMaybe(t *testing.T) {
	words := []rank.Keyword{{Word: "sky", Probability: 0.997}, {Word: "sea", Probability: 0.5}, {Word: "boat", Probability: 0.49}}
	shown := marked(words, true, 10, []string{"sky", "boat"})
	if got, want := groupsOf(shown), "likely sky 99 % true, sea 50 % false,maybe boat 49 % true,"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := (&Result{Probable: true, Photos: []Photo{{Keywords: shown}}}).Verdict(), "1 of 2 likely keywords are right"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// No weight is shown as certain, and keywords of few neighbours are hidden.
func TestWeightsAreNotProbabilities(t *testing.T) {
	shown := marked([]rank.Keyword{{Word: "sky", Weight: 9}, {Word: "sea", Weight: 4.5}, {Word: "boat", Weight: 4.4}}, false, 10, []string{"sea"})
	if got, want := groupsOf(shown), "by weight sky 9.0 false, sea 4.5 true,"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := (&Result{Photos: []Photo{{Keywords: shown}}}).Verdict(), "1 of 2 suggestions are right; weights are not probabilities"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := marked([]rank.Keyword{{Word: "sky", Weight: 1}}, false, 1, nil); len(got) != 1 {
		t.Error("the keyword of the only neighbour is hidden")
	}
	if got := groupsOf(nil); got != "" {
		t.Errorf("of nothing: %s", got)
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
		t.Error("a folder with a key was accepted")
	}
}

func decodeURI(t *testing.T, url string, kind string) []byte {
	t.Helper()
	text, ok := strings.CutPrefix(url, "data:"+kind+";base64,")
	if !ok {
		t.Fatalf("no %s: %.40s", kind, url)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

package report

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image"
	_ "image/gif"
	"image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"

	"golang.org/x/image/draw"

	"cpar/eval"
)

// thumbSide is the longest side of a thumbnail.
const thumbSide = 192

// samples adds thumbnails, read from the collection: results hold only names, so that
// they can be published. Unreadable pictures are left out.
func samples(s *eval.Samples, data string) []shownSample {
	out := make([]shownSample, len(s.Rows))
	for i, row := range s.Rows {
		out[i] = shownSample{Name: row.Name, Human: row.Human, Lists: []shownWords{{"cpar, AP-10", row.CPAR}, {"capia", row.CAPIA}}}
		if data != "" {
			out[i].Picture = thumbnail(filepath.Join(data, filepath.FromSlash(row.Name)))
		}
	}
	return out
}

func thumbnail(path string) template.URL {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	src, _, err := image.Decode(bytes.NewReader(b))
	if err != nil || src.Bounds().Empty() {
		return ""
	}
	w, h := src.Bounds().Dx(), src.Bounds().Dy()
	if long := max(w, h); long > thumbSide {
		w, h = max(1, w*thumbSide/long), max(1, h*thumbSide/long)
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(out, out.Bounds(), src, src.Bounds(), draw.Src, nil)
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, out, &jpeg.Options{Quality: 82}); err != nil {
		return ""
	}
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(buf.Bytes()))
}

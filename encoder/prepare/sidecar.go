package prepare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// sidecar is this program's own format. A preset sets all fields, and other
// fields override it. Without a preset, the whole image is scaled to 0 … 1:
//
//	{"preset": "imagenet", "size": 224, "resize": "crop", "shorter": 256,
//	 "interpolation": "bicubic", "offset": "floor", "color": "RGB", "scale": 0.00392156862745098,
//	 "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "views": 1}
type sidecar struct {
	Preset        string  `json:"preset"`
	Size          size    `json:"size"` // side, or [width, height]
	Width, Height int     // alternative to Size, as Preprocessing is encoded
	Mean          numbers `json:"mean"`
	Std           numbers `json:"std"`
	Scale         float64 `json:"scale"`
	Color         string  `json:"color"`
	Resize        Resize  `json:"resize"`
	Shorter       int     `json:"shorter"`
	Interpolation string  `json:"interpolation"`
	Offset        string  `json:"offset"`
	Fill          numbers `json:"fill"`
	Views         Views   `json:"views"`
}

func readSidecar(data []byte, height, width int) (p Preprocessing, err error) {
	var s sidecar
	if err := s.decode(data); err != nil {
		return p, err
	}
	w, h := width, height
	switch {
	case len(s.Size) == 1:
		w, h = s.Size[0], s.Size[0]
	case len(s.Size) == 2:
		w, h = s.Size[0], s.Size[1]
	case s.Width != 0 || s.Height != 0:
		w, h = s.Width, s.Height
	case height == 0:
		w, h = usualSide, usualSide
	}
	if p = plain(h, w); s.Preset != "" {
		if p, err = preset(s.Preset, min(h, w)); err != nil {
			return p, err
		}
	}
	if err := p.sized(h, w, height, width); err != nil {
		return p, err
	}
	// Fields of the file replace those of the preset.
	s.Scale, s.Mean, s.Std, s.Shorter = p.Scale, p.Mean[:], p.Std[:], cmp.Or(p.Shorter, max(w, h))
	if err := s.decode(data); err != nil {
		return p, err
	}
	p.Scale, p.Mean, p.Std, p.Views = s.Scale, [3]float64(s.Mean), [3]float64(s.Std), s.Views
	p.Color = cmp.Or(Color(strings.ToUpper(s.Color)), p.Color)
	p.Resize, p.Shorter = cmp.Or(s.Resize, p.Resize), 0
	if p.Resize == ResizeCrop {
		p.Shorter = s.Shorter
	}
	if s.Fill != nil {
		if p.Fill, err = byteColors([3]float64(s.Fill)); err != nil {
			return p, err
		}
	}
	if s.Interpolation != "" {
		if p.Interpolation, err = interpolation(s.Interpolation); err != nil {
			return p, err
		}
	}
	switch s.Offset {
	case "":
	case "even":
		p.Offset = OffsetEven
	case string(OffsetFloor):
		p.Offset = OffsetFloor
	default:
		return p, fmt.Errorf("offset %.20q; it is even or floor", s.Offset)
	}
	if p.Fill != [3]uint8{} && p.Resize != ResizePad {
		return p, errors.New("it has a fill, which is for resize pad")
	}
	return p, nil
}

func (s *sidecar) decode(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(s)
}

package prepare

import (
	"bytes"
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
	Preset        string   `json:"preset"`
	Size          size     `json:"size"` // side, or [width, height]
	Width, Height int      // alternative to Size, as Preprocessing is encoded
	Mean          numbers  `json:"mean"`
	Std           numbers  `json:"std"`
	Scale         *float64 `json:"scale"`
	Color         string   `json:"color"`
	Resize        Resize   `json:"resize"`
	Shorter       *int     `json:"shorter"`
	Interpolation string   `json:"interpolation"`
	Offset        string   `json:"offset"`
	Fill          numbers  `json:"fill"`
	Views         Views    `json:"views"`
}

func readSidecar(data []byte, height, width int) (Preprocessing, error) {
	var s sidecar
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Preprocessing{}, err
	}
	p := plain(height, width)
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
	if err := p.sized(h, w, height, width); err != nil {
		return p, err
	}
	if s.Preset != "" {
		var err error
		if p, err = preset(s.Preset, min(h, w)); err != nil {
			return p, err
		}
		p.Width, p.Height = w, h
	}
	if s.Mean != nil {
		copy(p.Mean[:], s.Mean)
	}
	if s.Std != nil {
		copy(p.Std[:], s.Std)
	}
	if s.Scale != nil {
		p.Scale = *s.Scale
	}
	if s.Color != "" {
		p.Color = Color(strings.ToUpper(s.Color))
	}
	if s.Fill != nil {
		var err error
		if p.Fill, err = byteColors([3]float64(s.Fill)); err != nil {
			return p, err
		}
	}
	p.Views = s.Views
	return p, s.resizing(&p)
}

func (s *sidecar) resizing(p *Preprocessing) (err error) {
	if s.Resize != "" {
		p.Resize = s.Resize
	}
	if p.Shorter == 0 {
		p.Shorter = max(p.Width, p.Height)
	}
	if s.Shorter != nil {
		p.Shorter = *s.Shorter
	}
	if p.Resize != ResizeCrop {
		p.Shorter = 0
	}
	if s.Interpolation != "" {
		if p.Interpolation, err = interpolation(s.Interpolation); err != nil {
			return err
		}
	}
	switch s.Offset {
	case "":
	case "even":
		p.Offset = OffsetEven
	case string(OffsetFloor):
		p.Offset = OffsetFloor
	default:
		return fmt.Errorf("offset %.20q; it is even or floor", s.Offset)
	}
	if p.Fill != [3]uint8{} && p.Resize != ResizePad {
		return errors.New("it has a fill, which is for resize pad")
	}
	return nil
}

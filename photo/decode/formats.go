package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"strings"

	"golang.org/x/image/webp"

	"cpar/photo/decode/internal/heif"
)

func sampleBytes(m color.Model) int64 {
	switch m {
	case color.GrayModel, color.AlphaModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	if _, ok := m.(color.Palette); ok {
		return 1
	}
	return 4
}

func timesSamples(n int64) func(image.Config, []byte) int64 {
	return func(claim image.Config, _ []byte) int64 {
		return n * sampleBytes(claim.ColorModel) * int64(claim.Width) * int64(claim.Height)
	}
}

// pngBytes adds half an image for the last pass of interlaced files.
func pngBytes(claim image.Config, data []byte) int64 {
	n := timesSamples(1)(claim, data)
	if len(data) > 28 && data[28] != 0 {
		n += n / 2
	}
	return n
}

// webpBytes allows for a copy by lossless transforms and for alpha, which is a
// lossless image itself.
func webpBytes(claim image.Config, _ []byte) int64 {
	if claim.ColorModel == color.YCbCrModel {
		return 2 * int64(claim.Width) * int64(claim.Height)
	}
	return 9 * int64(claim.Width) * int64(claim.Height)
}

// heicBytes returns the memory that libheif needs, as measured: seven bytes per
// pixel for a single HEVC image, fewer for tiles. The largest files get the
// budget that the decoded image leaves.
func heicBytes(claim image.Config, data []byte) int64 {
	pixels := int64(claim.Width) * int64(claim.Height)
	least, most := 5*pixels, 16<<20+2*int64(len(data))+8*pixels
	return max(least, min(most, decodeBudget*31/32))
}

func heicDecode(data []byte, use func(image.Image) error) error {
	claim, err := heicConfig(data)
	if err != nil {
		return err
	}
	return heif.Decode(data, heicBytes(claim, data), use)
}

// webpConfig also reads the size of the frame, because an extended header may
// claim a far smaller canvas.
func webpConfig(data []byte) (image.Config, error) {
	cfg, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return cfg, err
	}
	for id, body := range riffChunks(data) {
		switch {
		case id == "ANIM" || id == "ANMF":
			return cfg, errors.New("it is an animation; save one of its frames")
		case id == "VP8 " && len(body) >= 10:
			cfg.Width = max(cfg.Width, int(binary.LittleEndian.Uint16(body[6:])&0x3fff))
			cfg.Height = max(cfg.Height, int(binary.LittleEndian.Uint16(body[8:])&0x3fff))
		case id == "VP8L" && len(body) >= 5:
			n := binary.LittleEndian.Uint32(body[1:])
			cfg.Width = max(cfg.Width, int(n&0x3fff)+1)
			cfg.Height = max(cfg.Height, int(n>>14&0x3fff)+1)
		}
	}
	return cfg, nil
}

// jpegConfig also counts scan markers, which entropy-coded data cannot contain.
// The count is an upper bound.
func jpegConfig(data []byte) (image.Config, error) {
	if n := bytes.Count(data, []byte{0xff, 0xda}); n > maxScans {
		return image.Config{}, fmt.Errorf("it has %d scans, more than the %d accepted", n, maxScans)
	}
	return jpeg.DecodeConfig(bytes.NewReader(data))
}

// jpegDecode reads four components without Adobe's marker as CMYK, as other
// programs do. image/jpeg requires the marker, so jpegDecode inserts it.
func jpegDecode(data []byte) (image.Image, error) {
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil && strings.Contains(err.Error(), "APP14") {
		adobe := []byte{0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}
		marked := append(append(append(make([]byte, 0, len(data)+len(adobe)), data[:2]...), adobe...), data[2:]...)
		return jpeg.Decode(bytes.NewReader(marked))
	}
	return img, err
}

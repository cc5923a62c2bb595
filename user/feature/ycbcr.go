package feature

import "image"

// Chroma is upsampled as libjpeg's "fancy" upsampling does (jdsample.c): the
// triangle filter for 4:2:2, 4:2:0 and 4:4:0, replication for the rest and for
// chroma planes of one or two columns. Go's own At replicates, which moves hsv
// histograms of 4:2:0 photos by up to 0.1 in L1.

// A convertRow turns a row of luma and full-width chroma into RGB.
type convertRow func(rgb, y, cb, cr []byte)

func openYCbCr(m *image.YCbCr, convert convertRow) func() rowReader {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	return func() rowReader {
		up := newUpsampler(m, w, h)
		return func(y int, rgb []byte) {
			off := m.YOffset(m.Rect.Min.X, m.Rect.Min.Y+y)
			cb := up.row(m.Cb, y, up.cb)
			cr := up.row(m.Cr, y, up.cr)
			convert(rgb, m.Y[off:off+w], cb, cr)
		}
	}
}

// openYCbCrA reads lossy WebP with alpha, whose alpha is not premultiplied.
func openYCbCrA(m *image.NYCbCrA) func() rowReader {
	inner := openYCbCr(&m.YCbCr, videoRGB)
	return func() rowReader {
		read := inner()
		return func(y int, rgb []byte) {
			read(y, rgb)
			for x, a := range m.A[m.AOffset(m.Rect.Min.X, m.Rect.Min.Y+y):][:len(rgb)/3] {
				if a != 255 {
					for c := range 3 {
						rgb[3*x+c] = blendWhite(rgb[3*x+c], a)
					}
				}
			}
		}
	}
}

type upsampler struct {
	m            *image.YCbCr
	w            int // luma columns
	cw, ch       int // chroma columns and rows that hold samples
	hx, vx       int // luma columns and rows a chroma sample covers
	fancy        bool
	sums         []int32 // 3·near + far of one chroma row
	cb, cr       []byte  // w rounded up to whole chroma samples
	origin, step int     // of the chroma planes
}

func newUpsampler(m *image.YCbCr, w, h int) *upsampler {
	u := &upsampler{m: m, w: w, hx: 1, vx: 1, step: m.CStride, origin: m.COffset(m.Rect.Min.X, m.Rect.Min.Y)}
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		u.hx = 2
	case image.YCbCrSubsampleRatio420:
		u.hx, u.vx = 2, 2
	case image.YCbCrSubsampleRatio440:
		u.vx = 2
	case image.YCbCrSubsampleRatio411:
		u.hx = 4
	case image.YCbCrSubsampleRatio410:
		u.hx, u.vx = 4, 2
	}
	u.cw, u.ch = (w+u.hx-1)/u.hx, (h+u.vx-1)/u.vx
	u.fancy = u.hx == 2 && u.cw > 2 || u.hx == 1 && u.vx == 2
	u.sums = make([]int32, u.cw)
	u.cb, u.cr = make([]byte, u.cw*u.hx), make([]byte, u.cw*u.hx)
	return u
}

// row returns the chroma of luma row y, one byte a luma column.
func (u *upsampler) row(plane []byte, y int, out []byte) []byte {
	cy := y / u.vx
	near := plane[u.origin+cy*u.step:][:u.cw]
	switch {
	case u.hx == 1 && u.vx == 1:
		return near
	case !u.fancy:
		for x := range out {
			out[x] = near[x/u.hx]
		}
	case u.vx == 1:
		triangleRow(out, near)
	default:
		// The farther of the two rows that weigh in, within the plane.
		fy := min(max(cy-1+2*(y&1), 0), u.ch-1)
		far := plane[u.origin+fy*u.step:][:u.cw]
		if u.hx == 1 {
			bias := 1 + y&1 // rounds up and down in turn, as libjpeg does
			for x := range out {
				out[x] = byte((3*int(near[x]) + int(far[x]) + bias) >> 2)
			}
			break
		}
		for x := range near {
			u.sums[x] = 3*int32(near[x]) + int32(far[x])
		}
		triangleSums(out, u.sums)
	}
	return out[:u.w]
}

// triangleRow is h2v1_fancy_upsample.
func triangleRow(out, in []byte) {
	last := len(in) - 1
	for x, v := range in {
		left, right := in[max(x-1, 0)], in[min(x+1, last)]
		out[2*x] = byte((3*int(v) + int(left) + 1) >> 2)
		out[2*x+1] = byte((3*int(v) + int(right) + 2) >> 2)
	}
}

// triangleSums is the horizontal half of h2v2_fancy_upsample.
func triangleSums(out []byte, s []int32) {
	last := len(s) - 1
	out = out[:2*len(s)]
	prev, v := s[0], s[0]
	for x := range last {
		next := s[x+1]
		out[2*x] = byte((3*v + prev + 8) >> 4)
		out[2*x+1] = byte((3*v + next + 7) >> 4)
		prev, v = v, next
	}
	out[2*last] = byte((3*v + prev + 8) >> 4)
	out[2*last+1] = byte((4*v + 7) >> 4)
}

// jpegRGB is libjpeg's fixed-point matrix (jdcolor.c), 16 bits of fraction.
func jpegRGB(rgb, y, cb, cr []byte) {
	cb, cr, rgb = cb[:len(y)], cr[:len(y)], rgb[:3*len(y)]
	for x, luma := range y {
		l := int32(luma)
		u, v := int32(cb[x])-128, int32(cr[x])-128
		r := l + (91881*v+32768)>>16
		g := l + (-22554*u-46802*v+32768)>>16
		b := l + (116130*u+32768)>>16
		if uint32(r|g|b) > 255 {
			r, g, b = clamp255(r), clamp255(g), clamp255(b)
		}
		p := rgb[3*x:][:3:3]
		p[0], p[1], p[2] = byte(r), byte(g), byte(b)
	}
}

// videoRGB is libwebp's conversion (dsp/yuv.h): VP8 keeps luma in 16 … 235,
// which Go's YCbCr type does not know.
func videoRGB(rgb, y, cb, cr []byte) {
	for x, luma := range y {
		l := int32(luma) * 19077 >> 8
		u, v := int32(cb[x]), int32(cr[x])
		r := (l + v*26149>>8 - 14234) >> 6
		g := (l - u*6419>>8 - v*13320>>8 + 8708) >> 6
		b := (l + u*33050>>8 - 17685) >> 6
		rgb[3*x], rgb[3*x+1], rgb[3*x+2] = byte(clamp255(r)), byte(clamp255(g)), byte(clamp255(b))
	}
}

func clamp255(v int32) int32 { return min(max(v, 0), 255) }

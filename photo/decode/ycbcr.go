package decode

import "image"

// Chroma planes with fewer samples than luma are interpolated with a triangle
// filter, as in libjpeg and OpenCV: three parts of the nearer sample and one
// part of the farther. Repeating samples, as package image does, would change
// hsv histograms of photos by up to 0.1 in L1.

type convertRow func(rgb, y, cb, cr []byte)

func yCbCrRows(m *image.YCbCr, convert convertRow) rowReader {
	up := newUpsampler(m)
	return func(y int, rgb []byte) {
		off := m.YOffset(m.Rect.Min.X, m.Rect.Min.Y+y)
		convert(rgb, m.Y[off:off+up.w], up.row(m.Cb, y, up.cb), up.row(m.Cr, y, up.cr))
	}
}

// yCbCrARows reads lossy WebP with alpha. Its colours are not premultiplied.
func yCbCrARows(m *image.NYCbCrA) rowReader {
	read := yCbCrRows(&m.YCbCr, videoRGB)
	return func(y int, rgb []byte) {
		read(y, rgb)
		alpha := m.A[m.AOffset(m.Rect.Min.X, m.Rect.Min.Y+y):]
		for i, c := range rgb {
			a := int(alpha[i/3])
			rgb[i] = byte((int(c)*a + 255*(255-a) + 127) / 255)
		}
	}
}

type upsampler struct {
	w            int     // luma columns
	cw, ch       int     // chroma columns and rows with samples
	hx, vx       int     // luma columns and rows per chroma sample
	origin, step int     // offset and stride of the chroma planes
	sums         []int32 // interpolated chroma row, times 4
	cb, cr       []byte  // w rounded up to whole chroma samples
}

func newUpsampler(m *image.YCbCr) *upsampler {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	u := &upsampler{w: w, hx: 1, vx: 1, step: m.CStride, origin: m.COffset(m.Rect.Min.X, m.Rect.Min.Y)}
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
	u.cw, u.ch = ceilDiv(w, u.hx), ceilDiv(h, u.vx)
	u.sums = make([]int32, u.cw)
	u.cb, u.cr = make([]byte, u.cw*u.hx), make([]byte, u.cw*u.hx)
	return u
}

func (u *upsampler) row(plane []byte, y int, out []byte) []byte {
	cy := y / u.vx
	near := plane[u.origin+cy*u.step:][:u.cw]
	if u.hx == 1 && u.vx == 1 {
		return near
	}
	far := near
	if u.vx == 2 { // the row above for even y, below for odd y, if it exists
		far = plane[u.origin+min(max(cy-1+2*(y&1), 0), u.ch-1)*u.step:][:u.cw]
	}
	sums := u.sums
	for x := range near {
		sums[x] = 3*int32(near[x]) + int32(far[x])
	}
	if u.hx != 2 { // samples that cover four columns are repeated
		for x := range out {
			out[x] = byte((sums[x/u.hx] + 2) >> 2)
		}
		return out[:u.w]
	}
	out = out[:2*len(sums)]
	left := sums[0]
	for x, s := range sums {
		right := sums[min(x+1, len(sums)-1)]
		out[2*x] = byte((3*s + left + 8) >> 4)    // round halves up in even columns
		out[2*x+1] = byte((3*s + right + 7) >> 4) // round halves down in odd columns
		left = s
	}
	return out[:u.w]
}

// jpegRGB applies the JFIF matrix with 16 fractional bits.
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

// videoRGB applies WebP's matrix with the constants of libwebp. Luma runs from
// 16 to 235. Package image ignores this.
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

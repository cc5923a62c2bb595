package decode

// upright reads w×h pixels as stored, and turns them upright.
func upright(read rowReader, w, h int, o orientation) *Image {
	p := &Image{Width: w, Height: h, RGB: make([]byte, 3*w*h)}
	if o == 1 {
		for y := range h {
			read(y, p.Row(y))
		}
		return p
	}
	if o.swaps() {
		p.Width, p.Height = h, w
	}
	line := make([]byte, 3*w)
	for y := range h {
		read(y, line)
		for x := range w {
			ux, uy := x, y // along the stored axes, until they are swapped
			if o.reversesX() {
				ux = w - 1 - x
			}
			if o.reversesY() {
				uy = h - 1 - y
			}
			if o.swaps() {
				ux, uy = uy, ux
			}
			copy(p.RGB[3*(p.Width*uy+ux):][:3], line[3*x:][:3])
		}
	}
	return p
}

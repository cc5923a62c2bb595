package feature

// RGB returns the upright picture as 8-bit RGB over white, 3·width·height
// bytes row by row, which the caller owns. Of a large JPEG it is the reduced
// image (jpegreduced.go), whose last row and column may stand for fewer pixels
// than the others; Width and Height are those of the photo.
func (p *Picture) RGB() (rgb []byte, width, height int) {
	columns, rows := p.columns(), p.rows()
	width, height = columns, rows
	if p.turn.swaps() {
		width, height = rows, columns
	}
	rgb = make([]byte, 3*width*height)
	read := p.open()
	if p.turn <= 1 {
		for y := range rows {
			read(y, rgb[3*width*y:][:3*width])
		}
		return rgb, width, height
	}
	line := make([]byte, 3*columns)
	for y := range rows {
		read(y, line)
		for x := range columns {
			// Along the axes of the upright picture, before they swap.
			ux, uy := x, y
			if p.turn.reversesX() {
				ux = columns - 1 - x
			}
			if p.turn.reversesY() {
				uy = rows - 1 - y
			}
			if p.turn.swaps() {
				ux, uy = uy, ux
			}
			copy(rgb[3*(width*uy+ux):][:3], line[3*x:][:3])
		}
	}
	return rgb, width, height
}

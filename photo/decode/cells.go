package decode

// meansOf reads the means of cells of side×side pixels: what a picture too large for its use
// is reduced to while it is read. The cells of the last column and row may be smaller.
func meansOf(read rowReader, w, h, side int) (means rowReader, columns, rows int) {
	if side == 1 {
		return read, w, h
	}
	columns, rows = ceilDiv(w, side), ceilDiv(h, side)
	line, sums := make([]byte, 3*w), make([]uint32, 3*columns)
	return func(y int, rgb []byte) {
		clear(sums)
		deep := min(side, h-y*side)
		for dy := range deep {
			read(y*side+dy, line)
			for x := range columns {
				sum := sums[3*x:][:3]
				for p := line[3*x*side : 3*min((x+1)*side, w)]; len(p) >= 3; p = p[3:] {
					sum[0] += uint32(p[0])
					sum[1] += uint32(p[1])
					sum[2] += uint32(p[2])
				}
			}
		}
		for x := range columns {
			n := uint32(deep * min(side, w-x*side))
			for i := 3 * x; i < 3*x+3; i++ {
				rgb[i] = byte((sums[i] + n/2) / n)
			}
		}
	}, columns, rows
}

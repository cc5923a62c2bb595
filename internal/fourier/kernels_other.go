//go:build !(amd64 || arm64) || purego

package fourier

func supported() string { return "" }

func pass3(p *pass, x, y []complex128) { pass3Plain(p, x, y) }
func pass4(p *pass, x, y []complex128) { pass4Plain(p, x, y) }

func scaleLanes(dst, src []complex128, by []float64, ld int) { scaleLanesPlain(dst, src, by, ld) }

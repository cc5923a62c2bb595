// Command patchgen computes the patch words of package feature. It draws
// synthetic images, whitens their patches, and clusters them by k-means on the
// unit sphere. The images follow the dead-leaves model, in which shapes occlude
// each other as objects do (Lee, Mumford, Huang, "Occlusion models for natural
// images", IJCV 2001), with added shades and gratings.
package main

import (
	"encoding/binary"
	"flag"
	"log"
	"math"
	"math/rand/v2"
	"os"

	"gonum.org/v1/gonum/mat"

	"cpar/internal/f32"
	"cpar/internal/parallel"
)

const (
	side   = 6
	values = 3 * side * side
	words  = 400
	floor  = 10
)

const (
	pictures  = 1000
	per       = 200
	width     = 96
	height    = 64
	rounds    = 15
	smoothing = 0.1 // added to variances before whitening
)

func main() {
	out := flag.String("out", "patches.bin", "`file` to write")
	flag.Parse()
	rng := rand.New(rand.NewPCG(1, 0x7061746368))
	x := make([]float32, 0, pictures*per*values)
	for range pictures {
		p := draw(rng)
		for range per {
			x = append(x, patch(p, rng.IntN(width-side+1), rng.IntN(height-side+1))...)
		}
	}
	mean, whitening := whiten(x)
	for i := range x {
		x[i] -= mean[i%values]
	}
	w := product(x, whitening, len(x)/values)
	d := cluster(rng, w)
	if err := os.WriteFile(*out, encode(product(d, whitening, words), mean), 0o644); err != nil {
		log.Fatal(err)
	}
}

// draw returns an image of dead leaves with 3 values per pixel, 0…255. It
// reduces an image of twice the size, so that edges are slightly blurred.
func draw(rng *rand.Rand) []float64 {
	const w, h = 2 * width, 2 * height
	large := make([]float64, 3*w*h)
	for range 2500 {
		leaf(rng, large, w, h)
	}
	out := make([]float64, 3*width*height)
	for y := range height {
		for x := range width {
			for c := range 3 {
				at := 3*(2*y*w+2*x) + c
				v := (large[at] + large[at+3] + large[at+3*w] + large[at+3*w+3]) / 4
				out[3*(y*width+x)+c] = min(max(v+2*rng.NormFloat64(), 0), 255)
			}
		}
	}
	return out
}

func leaf(rng *rand.Rand, p []float64, w, h int) {
	const least, most = 3, 160
	r := 1 / math.Sqrt(1/float64(most*most)+rng.Float64()*(1/float64(least*least)-1/float64(most*most)))
	cx, cy := rng.Float64()*float64(w+200)-100, rng.Float64()*float64(h+200)-100
	turn, long, round := rng.Float64()*math.Pi, 0.3+0.7*rng.Float64(), rng.IntN(2) == 0
	light, red, blue := 20+215*rng.Float64(), 20*rng.NormFloat64(), 30*rng.NormFloat64()
	colour := [3]float64{light + red - blue/2, light - red - blue/4, light + blue}
	shade, wave, phase := 30*rng.NormFloat64(), 0.0, rng.Float64()*2*math.Pi
	if rng.IntN(2) == 0 {
		wave = 25 * rng.NormFloat64()
	}
	direction, length := rng.Float64()*math.Pi, 5+25*rng.Float64()
	sin, cos := math.Sincos(turn)
	across, along := math.Sincos(direction)
	for y := max(0, int(cy-1.5*r)); y < min(h, int(cy+1.5*r)+1); y++ {
		for x := max(0, int(cx-1.5*r)); x < min(w, int(cx+1.5*r)+1); x++ {
			dx, dy := float64(x)-cx, float64(y)-cy
			u, v := (dx*cos+dy*sin)/r, (dy*cos-dx*sin)/(r*long)
			if round && u*u+v*v > 1 || !round && max(math.Abs(u), math.Abs(v)) > 1 {
				continue
			}
			more := shade*u + wave*math.Sin(phase+2*math.Pi*(dx*along+dy*across)/length)
			for c := range 3 {
				p[3*(y*w+x)+c] = min(max(colour[c]+more, 0), 255)
			}
		}
	}
}

func patch(p []float64, x, y int) []float32 {
	all, sum, squares := make([]float64, 0, values), 0.0, 0.0
	for c := range 3 {
		for j := range side {
			for i := range side {
				v := p[3*((y+j)*width+x+i)+c]
				all, sum, squares = append(all, v), sum+v, squares+v*v
			}
		}
	}
	mean, out := sum/values, make([]float32, values)
	scale := 1 / math.Sqrt(max(0, squares/values-mean*mean)+floor)
	for i, v := range all {
		out[i] = float32((v - mean) * scale)
	}
	return out
}

// whiten returns the mean of the patches and the whitening matrix, which makes
// their covariance nearly the identity.
func whiten(x []float32) (mean, whitening []float32) {
	n := len(x) / values
	sums, squares := make([]float64, values), mat.NewSymDense(values, nil)
	for i := range n {
		row := x[i*values:][:values]
		for a, u := range row {
			sums[a] += float64(u)
			for b := a; b < values; b++ {
				squares.SetSym(a, b, squares.At(a, b)+float64(u)*float64(row[b]))
			}
		}
	}
	for a := range values {
		mean = append(mean, float32(sums[a]/float64(n)))
		for b := a; b < values; b++ {
			squares.SetSym(a, b, squares.At(a, b)/float64(n)-sums[a]/float64(n)*sums[b]/float64(n))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(squares, true) {
		log.Fatal("the patches' covariance has no eigenvectors")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	whitening = make([]float32, values*values)
	for a := range values {
		for b := range values {
			sum := 0.0
			for k, variance := range e.Values(nil) {
				sum += v.At(a, k) * v.At(b, k) / math.Sqrt(variance+smoothing)
			}
			whitening[a*values+b] = float32(sum)
		}
	}
	return mean, whitening
}

func product(x, m []float32, n int) []float32 {
	out := make([]float32, n*values)
	f32.Mul(out, values, x, values, m, values, n, values, values, false, make([]float32, f32.Scratch(n, values, values)))
	return out
}

// cluster returns one unit vector per word. A patch belongs to the word with
// the largest absolute inner product.
func cluster(rng *rand.Rand, x []float32) []float32 {
	d := make([]float32, words*values)
	for i := range d {
		d[i] = float32(rng.NormFloat64())
	}
	normalise(d)
	const batch = 2000
	n := len(x) / values
	best, at := make([]float32, n), make([]int, n)
	for range rounds {
		parallel.Each((n+batch-1)/batch, func() func(int) {
			said, scratch := make([]float32, batch*words), make([]float32, f32.Scratch(batch, words, values))
			return func(b int) {
				from, to := b*batch, min((b+1)*batch, n)
				f32.Mul(said, words, x[from*values:], values, d, values, to-from, words, values, true, scratch)
				for i := from; i < to; i++ {
					best[i] = 0
					for k, v := range said[(i-from)*words:][:words] {
						if v*v > best[i]*best[i] {
							best[i], at[i] = v, k
						}
					}
				}
			}
		})
		for i := range n { // the previous centroid stays in the sum, so that a word with few patches moves less
			f32.Axpy(best[i], x[i*values:][:values], d[at[i]*values:][:values])
		}
		normalise(d)
	}
	return d
}

func normalise(d []float32) {
	for k := range words {
		row := d[k*values:][:values]
		length := float32(math.Sqrt(float64(f32.Dot(row, row))))
		for i := range row {
			row[i] /= length
		}
	}
}

// encode writes each word as a scale, an offset (its product with the mean) and
// multiples of the scale.
func encode(d, mean []float32) (b []byte) {
	for k := range words {
		row, most := d[k*values:][:values], 0.0
		for _, v := range row {
			most = max(most, math.Abs(float64(v)))
		}
		scale := float32(most / math.MaxInt16)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(scale))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f32.Dot(row, mean)))
		for _, v := range row {
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(math.RoundToEven(float64(v/scale)))))
		}
	}
	return b
}

package catalogue

import (
	"crypto/rand"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"cpar/internal/testing/oracle"
)

// corel returns n invented rows with sets of keywords from Corel-5k, of at most
// five words.
func corel(t testing.TB, n int) []*Photo {
	t.Helper()
	f, err := os.Open(oracle.Path(t, "data/corel5k/manifest.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for i, name := range lines[0] {
		if name == "keywords" {
			at = i
		}
	}
	var sets [][]string
	for _, line := range lines[1:] {
		sets = append(sets, strings.FieldsFunc(line[at], func(r rune) bool { return r == ';' || r == ',' || r == '|' }))
	}
	return made(n, func(r *mrand.Rand) []string { return sets[r.IntN(len(sets))] })
}

// made returns n invented rows, spread over twenty years.
func made(n int, words func(*mrand.Rand) []string) (all []*Photo) {
	r := mrand.New(mrand.NewPCG(1, 2))
	cameras := []string{"", "Canon EOS 5D", "NIKON D750", "Apple iPhone 12", "SONY ILCE-7M3"}
	taken := time.Date(2004, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		taken = taken.Add(time.Duration(r.ExpFloat64() * float64(20*365*24*time.Hour) / float64(n)))
		name := fmt.Sprintf("IMG_%04d.jpg", i%10000)
		p := &Photo{Folder: fmt.Sprintf("photos/%d/%02d %s", taken.Year(), taken.Month(), []string{"home", "holiday", "work"}[i/50%3]), Name: name,
			Time: taken.Unix(), Width: 6000, Height: 4000, Orientation: uint8(1 + 5*(i%7/6)), Camera: cameras[i/20000%5]}
		p.Files = append(p.Files, File{name, 2e6 + r.Int64N(6e6), taken.UnixNano() + r.Int64N(1e9), object()})
		if i%4 == 0 {
			p.Files = append(p.Files, File{name + ".xmp", 3000 + r.Int64N(2000), taken.UnixNano() + r.Int64N(1e15), object()})
		}
		if i%100 > 0 { // others were added by an older program
			rand.Read(p.Content[:])
		}
		if i%3 == 0 {
			p.Place = &Place{int32(4800000 + 1000*r.IntN(50)), int32(1100000 + 1000*r.IntN(50))}
		}
		for k, w := range words(r) {
			p.Keywords = append(p.Keywords, Keyword{Word: w, Source: Source(k % 3)})
			if k%3 == 2 {
				p.Keywords[k].Probability = uint8(r.IntN(100))
			}
		}
		all = append(all, p)
	}
	return all
}

func object() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

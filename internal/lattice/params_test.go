package lattice

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"cpar"
)

var good = Params{LogN: 11, Dim: 1296, Block: 128, LogT: 16, LogRecordScale: 15, RecordNorm: 160, RequestNorm: 160, Addend: 6000}

func TestRingsMeetStandard(t *testing.T) {
	for _, c := range []struct {
		n    int
		bits float64
		ok   bool
	}{
		{Fast.N, float64(Fast.LogQ), true}, {Careful.N, float64(Careful.LogQ), true},
		{4096, 101, true}, {4096, 102, false}, {4096, 109, false}, {2048, 51, true}, {2048, 52, false}, {1024, 25, true}, {1024, 26, false}, {512, 10, false}, {5000, 10, false}, {32768, 827, true}, {65536, 100, false},
	} {
		err := secure(c.n, c.bits)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Errorf("degree %d, %.0f bits: %v", c.n, c.bits, err)
		}
	}
}

func TestValidateRejectsBadParams(t *testing.T) {
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Params){
		"no ring":                       func(p *Params) { p.LogN = 10 },
		"a negative ring":               func(p *Params) { p.LogN = -1 },
		"no dimension":                  func(p *Params) { p.Dim = 0 },
		"too many dimensions":           func(p *Params) { p.Dim = maxDim + 1 },
		"block too narrow":              func(p *Params) { p.Block = 8 },
		"block too wide":                func(p *Params) { p.Block = 256 },
		"block no power":                func(p *Params) { p.Block = 96 },
		"negative block":                func(p *Params) { p.Block = -128 },
		"small modulus":                 func(p *Params) { p.LogT, p.RecordNorm, p.RequestNorm, p.Addend = 7, 2, 2, 1 },
		"large modulus":                 func(p *Params) { p.LogT = 33 },
		"negative modulus":              func(p *Params) { p.LogT = -1 },
		"no record scale":               func(p *Params) { p.LogRecordScale = 0 },
		"no request scale":              func(p *Params) { p.LogRecordScale = 31 },
		"no norm":                       func(p *Params) { p.RecordNorm = 0 },
		"negative norm":                 func(p *Params) { p.RequestNorm = -1 },
		"negative addend":               func(p *Params) { p.Addend = -1 },
		"norms whose product overflows": func(p *Params) { p.RecordNorm, p.RequestNorm = math.MaxInt64/2, 4 },
		"largest addend":                func(p *Params) { p.Addend = math.MaxInt64 },
		"scores wrap":                   func(p *Params) { p.Addend = 1<<15 - 160*160 },
		"scores wrap by norms":          func(p *Params) { p.RequestNorm = 181; p.RecordNorm = 182 },
		"too noisy":                     func(p *Params) { p.LogRecordScale = 20 },
	} {
		p := good
		change(&p)
		if err := p.Validate(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := good
	p.Addend = 1<<15 - 160*160 - 1
	if err := p.Validate(); err != nil {
		t.Errorf("one less than a norm that wraps: %v", err)
	}
}

func TestBalanceIsTheBestScale(t *testing.T) {
	p, err := good.Balance()
	if err != nil {
		t.Fatal(err)
	}
	for q := p; q.LogRequestScale() >= 1; q.LogRecordScale++ {
		if q.LogFailure() < p.LogFailure() {
			t.Errorf("scale 2^%d is better than 2^%d", q.LogRecordScale, p.LogRecordScale)
		}
	}
	if _, err := (Params{LogN: 11, Dim: 1408, Block: 32, LogT: 18, RecordNorm: 300, RequestNorm: 300, Addend: 1}).Balance(); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("scores too wide for the noise: %v", err)
	}
}

// The bounds of noise.go, computed by hand for one set of parameters.
func TestNoiseBudgetWorkedOut(t *testing.T) {
	p := good // Δ_db = 2¹⁵, Δ_q = 2¹⁶, K = 16, B = 11
	request := math.Exp2(16) * 3.2 * 160
	record := 3.2 * (math.Exp2(15)*math.Sqrt(16)*160 + 19*math.Sqrt(2048*11))
	hint := math.Sqrt(4096./3) * (math.Exp2(20) + 81920)
	width, rest := p.Noise()
	if want := math.Sqrt(request*request + record*record + hint*hint); math.Abs(width/want-1) > 1e-12 {
		t.Errorf("width 2^%.3f, want 2^%.3f", math.Log2(width), math.Log2(want))
	}
	if rest != 81920+19 {
		t.Errorf("rest %f", rest)
	}
	z := (math.Exp2(30) - rest) / width
	if want := 1 - z*z/2/math.Ln2; math.Abs(p.LogFailure()-want) > 1e-9 {
		t.Errorf("failure 2^%f, want 2^%f", p.LogFailure(), want)
	}
	if p.LogFailure() > -80 {
		t.Errorf("the paper's vectors fail with 2^%.0f", p.LogFailure())
	}
}

func TestSizesMatchEncodings(t *testing.T) {
	p := good
	p.Dim = 1408
	if p.Blocks() != 11 || p.Records() != 16 || p.Words() != 11*2048 || p.Groups(20000) != 1250 || p.Groups(20001) != 1251 {
		t.Errorf("%d blocks, %d records, %d words, %d groups", p.Blocks(), p.Records(), p.Words(), p.Groups(20000))
	}
	if n := p.RequestSize(); n != 40+6*11*2048 {
		t.Errorf("a request of %d bytes", n)
	}
	if n := p.ReplySize(1250); n != 80+6*20000 {
		t.Errorf("a reply of %d bytes", n)
	}
	if n := p.GroupSize(); n != 64+6*16+6*11*2048 {
		t.Errorf("a group of %d bytes", n)
	}
	if n := p.HintBytes(); n != 26*2048/8 {
		t.Errorf("a hint of %d bytes", n)
	}
}

func TestParamsRoundTrip(t *testing.T) {
	b, err := good.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != ParamsSize {
		t.Fatalf("%d bytes, want %d", len(b), ParamsSize)
	}
	if p, err := DecodeParams(b); err != nil || p != good {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := (Params{}).AppendBinary(nil); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("invalid parameters were written: %v", err)
	}
}

func FuzzDecodeParams(f *testing.F) {
	b, err := good.AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[1:])
	f.Add(append(bytes.Clone(b), 0))
	f.Add(bytes.Repeat([]byte{0xff}, ParamsSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodeParams(b)
		if err != nil {
			if !errors.Is(err, cpar.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		back, err := p.AppendBinary(nil)
		if err != nil || !bytes.Equal(back, b) {
			t.Fatalf("%x became %x, %v", b, back, err)
		}
	})
}

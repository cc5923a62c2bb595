package scorevector

import (
	"math"
	"math/rand/v2"
	"testing"

	"cpar/model/vectorlayout"
	"cpar/user/ive"
)

// Erratum: the paper considers w > 2·max|e| sufficient. That allows decryption,
// but a score sums the noise weighted with the other vector. With w = 2⁶ > 2·19
// and noise in every slot the ranking is lost. The budget's w with its quiet
// slot is correct, and w = 2¹⁶ makes every score wrap.
func TestErratumScaleTwiceTheNoiseIsNotEnough(t *testing.T) {
	p := Paper()
	b := mustBudget(t, p)
	r := rand.New(rand.NewPCG(7, 8))
	records, requests := photos(r, p, 120), photos(r, p, 10)
	trial := func(shift uint, quiet ...int) (mean float64) {
		cipher := b.Cipher()
		cipher.RecordShift, cipher.RequestShift = shift, shift
		key, err := ive.NewKey(secret(3), cipher)
		if err != nil {
			t.Fatal(err)
		}
		noise := ive.NewNoise(secret(byte(shift)))
		flat := make([]int64, 0, len(records)*b.Dim())
		for _, record := range records {
			flat = append(flat, mustRecord(t, b, record, noise.Epsilon())...)
		}
		c, q := make([]uint64, len(flat)), make([]uint64, b.Dim())
		if err := key.EncryptRecords(c, flat, noise, quiet...); err != nil {
			t.Fatal(err)
		}
		for _, request := range requests {
			y := mustRequest(t, b, request, noise.Scale())
			if err := key.EncryptRequest(q, y, noise); err != nil {
				t.Fatal(err)
			}
			plain, scores := make([]int64, len(records)), make([]int64, len(records))
			for i := range records {
				row := flat[i*b.Dim() : (i+1)*b.Dim()]
				plain[i] = b.PlainScore(row, y)
				scores[i] = cipher.Score(c[i*b.Dim():(i+1)*b.Dim()], q)
			}
			mean += agreement(plain, scores) / float64(len(requests))
		}
		return mean
	}
	rule, budget := trial(6), trial(b.params.Shift, b.NoiselessSlot())
	smaller, wrapped := trial(13, b.NoiselessSlot()), trial(16, b.NoiselessSlot())
	t.Logf("agreement: w = 2⁶ %.3f, budget %.4f, w = 2¹³ %.4f, w = 2¹⁶ %.3f", rule, budget, smaller, wrapped)
	if rule > 0.3 {
		t.Errorf("w = 2⁶ agrees in %.3f: the rule would have been enough", rule)
	}
	if budget < 0.99 || smaller < 0.99 {
		t.Errorf("the budget agrees in %.4f only, w = 2¹³ in %.4f", budget, smaller)
	}
	if wrapped > 0.3 {
		t.Errorf("w = 2¹⁶ agrees in %.3f: it should wrap", wrapped)
	}
}

// Erratum: the logarithm must be rounded after multiplying by r_s. F/2¹⁸ is
// 2.47, so round(2.47·log c) has at most two fractional bits.
func TestErratumLogarithmRoundedAfterScaling(t *testing.T) {
	p := Paper()
	b := mustBudget(t, p)
	r := rand.New(rand.NewPCG(9, 10))
	records, requests := photos(r, p, 400), photos(r, p, 12)
	var ours, early, worst, worstEarly float64
	for _, request := range requests {
		scale := int64(1<<ive.ScaleBits + r.IntN(1<<ive.ScaleBits))
		y := mustRequest(t, b, request, scale)
		before := append([]int64(nil), y...)
		for i, x := range request.v {
			before[p.JL+i] = -scale * int64(math.Round(math.Ldexp(b.Unit(), -vectorlayout.ValueBits)*math.Log(x)))
		}
		exact, after, printed := make([]int64, len(records)), make([]int64, len(records)), make([]int64, len(records))
		for i, record := range records {
			x, want := mustRecord(t, b, record, 0), distance(b, record, request)
			exact[i] = int64(want * 1e12)
			after[i], printed[i] = b.PlainScore(x, y), b.PlainScore(x, before)
			worst = max(worst, math.Abs(b.Dis(after[i], scale)-want))
			worstEarly = max(worstEarly, math.Abs(b.Dis(printed[i], scale)-want))
		}
		ours += agreement(exact, after) / float64(len(requests))
		early += agreement(exact, printed) / float64(len(requests))
	}
	t.Logf("rounded after: agreement %.4f, error up to %.1e; before: %.4f, %.1e", ours, worst, early, worstEarly)
	if ours < 0.99 || worst > 5e-4 {
		t.Errorf("rounded after scaling: agreement %.4f, distances off by up to %.2g", ours, worst)
	}
	if early > ours-0.02 || worstEarly < 1e-2 {
		t.Errorf("rounded before scaling: agreement %.4f, distances off by %.2g: it would have done", early, worstEarly)
	}
}

// walk returns a difference of levels under a JL projection: m̂ sums of random
// signs.
func walk(r *rand.Rand, m, levels int) []int16 {
	z := make([]int16, m)
	for i := range z {
		for range levels {
			z[i] += int16(r.IntN(2))*2 - 1
		}
	}
	return z
}

// Erratum: type-2 planes lie in JL space, and their distance does not bound an
// L1 distance from below, because all steps of one coordinate can have one
// sign. A plane in levels does not bound a distance estimated through JL
// either, which is too small half the time. PlaneFactor corrects that.
func TestErratumJLPlaneIsNoLowerBoundOfL1(t *testing.T) {
	// A level vector is 16 levels from the request, with m̂ = 4. L1 is 16
	// levels, which are 16·m̂ squared JL units. All signs of coordinate 2
	// agree.
	const levels, m = 16, 4
	record := []int16{2, -4, levels, 0} // the request is 0
	plane := float64(levels * levels)   // DL1_hc at coordinate 2
	if l1 := float64(levels * m); plane <= l1 {
		t.Errorf("plane at %g, L1 at %g: no counterexample", plane, l1)
	}
	// It does bound the JL distance.
	if jl := float64(SquaredNorm(record)); plane > jl {
		t.Errorf("plane at %g, JL distance %g", plane, jl)
	}

	// Conversely, at the paper's m̂ the plane is `far` levels away, the record
	// on it, and its distance is estimated through JL.
	r := rand.New(rand.NewPCG(5, 6))
	const trials, far, mHat = 150, 12, 1296
	below, wrong := 0, 0
	for range trials {
		estimate := float64(SquaredNorm(walk(r, mHat, far))) / mHat // in levels
		if estimate < far {
			below++
		}
		if estimate < PlaneFactor*far {
			wrong++
		}
	}
	if below < trials/4 {
		t.Errorf("the JL estimate falls below the plane in %d of %d cases only", below, trials)
	}
	if wrong > 0 {
		t.Errorf("times %g the plane is still above the JL estimate in %d of %d cases", PlaneFactor, wrong, trials)
	}
}

// The paper requires r_s ≫ ε. In units of distance this holds here: 3ε of a
// record is less than a thousandth of r_s.
func TestScalesInThePapersUnits(t *testing.T) {
	b := mustBudget(t, Paper())
	if ive.EpsilonBound < 1<<ive.ScaleBits {
		t.Error("the integers are as the paper wants them")
	}
	if epsilon := ive.EpsilonBound / b.Unit(); epsilon > 0.0254 || 3*epsilon > (1<<ive.ScaleBits)/1000 {
		t.Errorf("|ε| is %g in units of distance, r_s at least %d", epsilon, 1<<ive.ScaleBits)
	}
}

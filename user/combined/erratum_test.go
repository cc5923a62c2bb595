package combined

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cpar/user/ive"
	"cpar/user/pklc"
	"cpar/user/pl1c"
)

// Erratum: the paper says that w > 2·max|e| is enough. That lets the owner decrypt, but a
// score sums the noise weighted with the other vector: with w = 2⁶ > 2·19 and noise in
// every slot the ranking is lost. With the budget's w and its quiet slot it is right;
// with w = 2¹⁶ every score wraps.
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
	rule, budget := trial(6), trial(b.params.Shift, b.QuietSlot())
	smaller, wrapped := trial(13, b.QuietSlot()), trial(16, b.QuietSlot())
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

// Erratum: the logarithm must be rounded after the multiplication by r_s. F/2¹⁸ is 2.47,
// so round(2.47·log c) has at best two bits after the point.
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
			before[p.JL+i] = -scale * int64(math.Round(math.Ldexp(b.Unit(), -ValueBits)*math.Log(x)))
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

// Erratum: the indices of Comp_qL. A node's comparison is the sum of the L1 and KL
// comparisons of one record; sums of parts of different records order nothing. The
// combined vector cannot mix them, and equals the sum of the separate tools.
func TestErratumCompQLAddsPartsOfOneRecord(t *testing.T) {
	p := shaped(400, 48, 999, ive.DistanceShift)
	b := mustBudget(t, p)
	r := rand.New(rand.NewPCG(11, 12))
	records, request := photos(r, p, 60), photos(r, p, 1)[0]
	const scale = 1777
	l1, errL1 := pl1c.KeyGen(secret(1), pl1c.Params{Dim: p.JL, Offset: 8 * int64(b.Unit()), Shift: p.Shift})
	kl, errKL := pklc.KeyGen(secret(2), pklc.Params{Dim: p.KL, Unit: b.Unit(), Offset: 3, Shift: p.Shift})
	noise := ive.NewNoise(secret(3))
	if err := errors.Join(errL1, errKL); err != nil {
		t.Fatal(err)
	}
	q1, err1 := l1.Request(request.z, scale, noise)
	q2, err2 := kl.Request(request.v, scale, noise)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	y := mustRequest(t, b, request, scale)
	compL1, compKL := make([]int64, len(records)), make([]int64, len(records))
	exact, combined, sum, mixed := make([]int64, len(records)), make([]int64, len(records)), make([]int64, len(records)), make([]int64, len(records))
	for i, record := range records {
		c1, err1 := l1.EncryptRecord(record.z, noise)
		c2, err2 := kl.EncryptRecord(record.v, noise)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		compL1[i], compKL[i] = l1.Params().Compare(c1, q1), kl.Params().Compare(c2, q2)
		exact[i] = int64(1e12 * distance(b, record, request))
		combined[i] = b.PlainScore(mustRecord(t, b, record, 0), y)
	}
	for i := range records {
		sum[i] = compL1[i] + compKL[i]
		mixed[i] = compL1[i] + compKL[(i+1)%len(records)]
		// 8 + 3 = 11 units of offset, and ε from both tools.
		if off := math.Abs(float64(sum[i] - combined[i])); off > 2e-3*scale*b.Unit() {
			t.Errorf("record %d: Comp_L1 + Comp_KL = %d, combined %d", i, sum[i], combined[i])
		}
	}
	if a := agreement(exact, combined); a < 1 {
		t.Errorf("the combined score orders as D_L1 + D_KL in %.2f of places", a)
	}
	if a := agreement(exact, sum); a < 0.9 {
		t.Errorf("the sum of one record's parts orders as D_L1 + D_KL in %.2f of places", a)
	}
	if a := agreement(exact, mixed); a > 0.5 {
		t.Errorf("parts of different records order as D_L1 + D_KL in %.2f of places", a)
	}
}

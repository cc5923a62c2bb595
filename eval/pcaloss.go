package eval

import (
	"context"
	"fmt"

	"cpar/internal/parallel"
	"cpar/model/profile"
	"cpar/user"
)

// A PCARow is accuracy in the clear with exact distances for one PCA-X.
type PCARow struct {
	// Factor is X; 0 for no PCA.
	Factor    int `json:"factor"`
	Dimension int `json:"dimension"`
	// Paper and Standard are recall in percent by the two protocols, both with ten neighbours.
	Paper    Interval `json:"paper"`
	Standard Interval `json:"standard"`
	Quality  Quality  `json:"quality"`
	// Lost is the loss by the paper's protocol against no PCA, in percentage points.
	Lost Interval `json:"lost"`
}

// PCALoss is the accuracy that PCA costs.
type PCALoss struct {
	Requests int      `json:"requests"`
	Admitted int      `json:"admitted"`
	Rows     []PCARow `json:"rows"`
}

// MeasurePCA measures accuracy without PCA and with PCA-8 to PCA-128. Without
// PCA a key would exceed a gigabyte, so all of this is in the clear.
func MeasurePCA(ctx context.Context, c *Corpus, progress user.Progress) (*PCALoss, error) {
	truth, indexed := Keywords(c.Test), Keywords(c.Train)
	j := newJudge(truth, indexed)
	p := &PCALoss{Requests: len(truth)}
	for _, a := range j.admitted {
		if a {
			p.Admitted++
		}
	}
	draws := bootstrap(len(truth), 1)
	var none []float64
	factors := append([]int{0}, profile.PCAFactors...)
	for i, factor := range factors {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if progress != nil {
			progress("pca", i, len(factors))
		}
		train, test, err := plainVectors(c, factor)
		if err != nil {
			return nil, err
		}
		dis := exactDis(train, test)
		all, five := annotatePlain(dis, indexed, 10, allKeywords), annotatePlain(dis, indexed, 10, standardKeywords)
		paper, standard := make([]marks, len(truth)), make([]marks, len(truth))
		for i := range truth {
			paper[i], standard[i] = j.mark(i, all[i]), j.mark(i, five[i])
		}
		ofPaper, ofStandard := make([]float64, len(draws)), make([]float64, len(draws))
		parallel.For(len(draws), func(b int) {
			ofPaper[b] = j.tally(paper, draws[b], true).recall(true)
			ofStandard[b] = j.tally(standard, draws[b], false).recall(false)
		})
		if factor == 0 {
			none = ofPaper
		}
		lost := make([]float64, len(draws))
		for b := range lost {
			lost[b] = none[b] - ofPaper[b]
		}
		p.Rows = append(p.Rows, PCARow{Factor: factor, Dimension: len(train[0].L1),
			Paper: interval(ofPaper), Standard: interval(ofStandard), Quality: MeasureQuality(five, truth), Lost: interval(lost)})
	}
	return p, nil
}

// PCAName returns a factor as the paper writes it.
func PCAName(factor int) string {
	if factor == 0 {
		return "none"
	}
	return fmt.Sprintf("PCA-%d", factor)
}

// Tables implements Result.
func (p *PCALoss) Tables() []Table {
	t := Table{Name: "pca", Title: fmt.Sprintf("Accuracy in the clear by PCA, ten neighbours, %d requests", p.Requests),
		Columns: []string{"pca", "m_L1", "paper's recall %", "low", "high", "lost", "low", "high", "standard R %", "low", "high", "P %", "N+"}}
	for _, r := range p.Rows {
		t.Rows = append(t.Rows, []string{PCAName(r.Factor), FormatInt(r.Dimension),
			FormatDecimal(r.Paper.Value, 2), FormatDecimal(r.Paper.Low, 2), FormatDecimal(r.Paper.High, 2),
			FormatDecimal(r.Lost.Value, 2), FormatDecimal(r.Lost.Low, 2), FormatDecimal(r.Lost.High, 2),
			FormatDecimal(r.Standard.Value, 2), FormatDecimal(r.Standard.Low, 2), FormatDecimal(r.Standard.High, 2),
			FormatDecimal(r.Quality.P, 2), FormatInt(r.Quality.Nplus)})
	}
	return []Table{t}
}

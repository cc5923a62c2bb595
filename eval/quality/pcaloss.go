package quality

import (
	"context"
	"fmt"
	"slices"

	"cpar/eval/measure"
	"cpar/internal/parallel"
	"cpar/model/profile"
	"cpar/user"
)

// A PCARow is the accuracy with exact distances for one PCA-X (PCA that divides
// the dimension of Haar features by X).
type PCARow struct {
	// Factor is X, or 0 for no PCA.
	Factor int `json:"factor"`
	// Dimension is the number of elements in the L1 part of a vector.
	Dimension int `json:"dimension"`
	// Paper is recall in percent by the paper's protocol, with ten neighbours.
	Paper measure.Interval `json:"paper"`
	// Standard is recall in percent by the standard protocol, with ten
	// neighbours.
	Standard measure.Interval `json:"standard"`
	Quality  measure.Quality  `json:"quality"`
	// Lost is the value of Paper without PCA minus Paper of this row, in
	// percentage points.
	Lost measure.Interval `json:"lost"`
}

type PCALoss struct {
	Requests int      `json:"requests"`
	Admitted int      `json:"admitted"`
	Rows     []PCARow `json:"rows"`
}

// MeasurePCA measures accuracy without PCA and with PCA-X for X from 8 to 128.
// It searches in plaintext, because a key for vectors without PCA would exceed
// a gigabyte.
func MeasurePCA(ctx context.Context, c *measure.Corpus, progress user.Progress) (*PCALoss, error) {
	truth, indexed := measure.Keywords(c.Test), measure.Keywords(c.Train)
	j := measure.NewJudge(truth, indexed)
	p := &PCALoss{Requests: len(truth)}
	for _, a := range j.Admitted {
		if a {
			p.Admitted++
		}
	}
	draws := measure.Bootstrap(len(truth), 1)
	var none []float64
	factors := append([]int{0}, profile.PCAFactors...)
	for i, factor := range factors {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		progress.Report("pca", i, len(factors))
		train, test, err := measure.PlainVectors(c, factor)
		if err != nil {
			return nil, err
		}
		dis := measure.ExactDis(train, test)
		all, five := measure.AnnotatePlain(dis, indexed, 10, measure.AllKeywords), measure.AnnotatePlain(dis, indexed, 10, measure.StandardKeywords)
		paper, standard := make([]measure.Marks, len(truth)), make([]measure.Marks, len(truth))
		for i := range truth {
			paper[i], standard[i] = j.Mark(i, all[i]), j.Mark(i, five[i])
		}
		ofPaper, ofStandard := make([]float64, len(draws)), make([]float64, len(draws))
		parallel.For(len(draws), func(b int) {
			ofPaper[b] = j.Tally(paper, draws[b], true).Recall(true)
			ofStandard[b] = j.Tally(standard, draws[b], false).Recall(false)
		})
		if factor == 0 {
			none = ofPaper
		}
		lost := make([]float64, len(draws))
		for b := range lost {
			lost[b] = none[b] - ofPaper[b]
		}
		p.Rows = append(p.Rows, PCARow{Factor: factor, Dimension: len(train[0].L1),
			Paper: measure.NewInterval(ofPaper), Standard: measure.NewInterval(ofStandard), Quality: measure.MeasureQuality(five, truth), Lost: measure.NewInterval(lost)})
	}
	return p, nil
}

func PCAName(factor int) string {
	if factor == 0 {
		return "none"
	}
	return fmt.Sprintf("PCA-%d", factor)
}

func (p *PCALoss) Tables() []measure.Table {
	t := measure.Table{Name: "pca", Title: fmt.Sprintf("Accuracy in the clear by PCA, ten neighbours, %d requests", p.Requests),
		Columns: []string{"pca", "m_L1", "paper's recall %", "low", "high", "lost", "low", "high", "standard R %", "low", "high", "P %", "N+"}}
	for _, r := range p.Rows {
		t.Rows = append(t.Rows, slices.Concat([]string{PCAName(r.Factor), measure.FormatInt(r.Dimension)}, r.Paper.Cells(2), r.Lost.Cells(2), r.Standard.Cells(2),
			[]string{measure.FormatDecimal(r.Quality.P, 2), measure.FormatInt(r.Quality.Nplus)}))
	}
	return []measure.Table{t}
}

package report

import (
	"context"
	"fmt"

	"cpar/eval/cost"
	"cpar/eval/measure"
	"cpar/eval/quality"
	"cpar/internal/paper"
	"cpar/model/vector"
)

// A NumberRow compares a value in the paper's text with ours. Paper is nil if
// the text does not state the value.
type NumberRow struct {
	ID    string   `json:"id"`
	What  string   `json:"what"`
	Paper *float64 `json:"paper"`
	Ours  float64  `json:"ours"`
	Unit  string   `json:"unit,omitempty"`
	Place string   `json:"place,omitempty"`
	// Note explains how our value measures a slightly different quantity.
	Note string `json:"note,omitempty"`
}

type Numbers struct {
	Records int         `json:"n"`
	Rows    []NumberRow `json:"rows"`
}

func numbersStep(ctx context.Context, r *measure.Run, _ measure.Measurement) (measure.Result, error) {
	c, err := measure.ResultFrom[*cost.Cost](ctx, r, "cost")
	if err != nil {
		return nil, err
	}
	a, err := measure.ResultFrom[*quality.AlphaGamma](ctx, r, "alphagamma")
	if err != nil {
		return nil, err
	}
	loss, err := measure.ResultFrom[*quality.PCALoss](ctx, r, "pca")
	if err != nil {
		return nil, err
	}
	return CollectNumbers(paper.Values(), c, a, loss), nil
}

func CollectNumbers(p *paper.Paper, c *cost.Cost, a *quality.AlphaGamma, loss *quality.PCALoss) *Numbers {
	out := &Numbers{Records: c.Records}
	dimension := 0
	for _, r := range a.Rows {
		if r.Alpha == 1 && r.Gamma == 100 {
			dimension = r.Dimension
		}
	}
	l1, lost := 0, 0.0
	for _, r := range loss.Rows {
		if r.Factor == 32 {
			l1 = r.Dimension
		}
		if r.Factor > 0 && r.Factor <= 32 {
			lost = max(lost, r.Lost.Value)
		}
	}
	own := map[string]struct {
		value float64
		note  string
	}{
		"m_l1":           {float64(l1), ""},
		"m_kl":           {vector.DimensionKL, "the paper prints 864 only: inferred"},
		"m_hat":          {float64(dimension), ""},
		"jl_error":       {a.Mean, "mean of five secrets"},
		"pca_loss":       {lost, "percentage points of the paper's recall, in the clear; the greatest of PCA-8 to PCA-32"},
		"forest_build":   {c.Build.Forest, "ten trees, all cores"},
		"vector_encrypt": {c.Primitives.Vector, fmt.Sprintf("%d elements, both distances, one core", c.Primitives.VectorDim)},
		"plane_encrypt":  {c.Primitives.BoxedPlane, fmt.Sprintf("one plane of %d elements as boxed; the index's own, of |SF|+1, take %s ms", c.Primitives.BoxedDim, measure.FormatDecimal(c.Primitives.Plane, 3))},
		"ope":            {c.Primitives.OPE, "ours is for all |SF| values of a request, with a key whose tables are made; the index uses dense ranks instead"},
		"forest_encrypt": {c.Build.Encrypt / 60, fmt.Sprintf("%s s, vectors, planes and keywords, all cores", measure.FormatDecimal(c.Build.Encrypt, 1))},
		"request_time":   {c.Request.Features + c.Request.Encrypt, fmt.Sprintf("features %s ms, encryption %s ms, one core", measure.FormatDecimal(c.Request.Features, 1), measure.FormatDecimal(c.Request.Encrypt, 1))},
		"selection":      {c.Request.Rank, "decryption and ranking"},
		"request_bytes":  {float64(c.Request.Bytes) / 1e3, fmt.Sprintf("vector %d B, order %d B, the rest a header; of the paper's 80, 48 are C(H_s), which only pruning needs here: %d B more", c.Request.Vector, c.Request.Order, c.Request.Planes)},
		"reply_bytes":    {float64(c.Request.Reply), "ten records with their distances, and all their keywords padded to one length"},
		"split_fields":   {float64(c.Build.Fields), "principal components that ten trees split, at most 64"},
	}
	for _, n := range p.Numbers {
		value := n.Value
		row := NumberRow{ID: n.ID, What: n.What, Paper: &value, Unit: n.Unit, Place: n.Place}
		if o, ok := own[n.ID]; ok {
			row.Ours, row.Note = o.value, o.note
		}
		out.Rows = append(out.Rows, row)
	}
	touched := map[string]float64{}
	for _, r := range c.Rows {
		touched[r.Name] = float64(r.Bytes)
	}
	out.Rows = append(out.Rows,
		NumberRow{ID: "index_bytes", What: "the index", Ours: float64(c.Build.IndexBytes) / 1e6, Unit: "MB"},
		NumberRow{ID: "peak_memory", What: "peak memory of a build", Ours: c.Build.PeakMB, Unit: "MB", Note: fmt.Sprintf("of the whole process; raw features of the collection are %s MB of it", measure.FormatDecimal(c.Build.RawMB, 0))},
		NumberRow{ID: "touched_capia", What: "ciphertext read for a request, capia", Ours: touched["capia"] / 1e6, Unit: "MB"},
		NumberRow{ID: "touched_cpar10", What: "ciphertext read for a request, AP-10", Ours: touched["cpar@10"] / 1e6, Unit: "MB"},
		NumberRow{ID: "touched_cpar2.5", What: "ciphertext read for a request, AP-2.5", Ours: touched["cpar@2.5"] / 1e6, Unit: "MB"})
	return out
}

func (n *Numbers) Tables() []measure.Table {
	t := measure.Table{Name: "numbers", Title: fmt.Sprintf("Numbers of the text, ours at n = %d", n.Records),
		Columns: []string{"what", "the paper", "ours", "unit", "place in the paper", "note"}}
	for _, r := range n.Rows {
		theirs := "not stated"
		if r.Paper != nil {
			theirs = measure.FormatDecimal(*r.Paper, 2)
		}
		t.Rows = append(t.Rows, []string{r.What, theirs, measure.FormatSignificant(r.Ours), r.Unit, r.Place, r.Note})
	}
	return []measure.Table{t}
}

package eval

import (
	"fmt"
	"strings"
)

// Tables implements Result.
func (p *Profiles) Tables() []Table {
	rows := Table{Name: "profiles", Title: fmt.Sprintf("Profiles, n = %d, %d requests, five keywords a photo; bytes and times at n = %d (%s), one core", p.Records, p.Requests, p.CostRecords, p.CostKind),
		Columns: []string{"profile", "ranker", "scheme", "neighbours", "dimensions", "P %", "R %", "N+", "index MB", "cloud ms", "owner ms"}}
	for _, s := range p.Skipped {
		rows.Title += fmt.Sprintf("; %s was left out: %s", s.Profile, s.Reason)
	}
	for _, r := range p.Rows {
		rows.Rows = append(rows.Rows, []string{r.Profile, r.Ranker, r.Scheme, FormatInt(r.Neighbours), FormatInt(r.Dim), FormatDecimal(r.P, 2), FormatDecimal(r.R, 2), FormatInt(r.Nplus),
			FormatNonZero(float64(r.IndexBytes)/1e6, 2), FormatNonZero(r.Cloud, 3), FormatNonZero(r.Owner, 1)})
	}
	losses := Table{Name: "profile-losses", Title: "What encryption costs: in the clear less encrypted",
		Columns: []string{"profile", "ranker", "scheme", "P, points", "R, points", "N+", "P, % of plain", "R, % of plain", "N+, % of plain"}}
	for _, l := range p.Losses {
		losses.Rows = append(losses.Rows, []string{l.Profile, l.Ranker, l.Scheme, FormatDecimal(l.P, 2), FormatDecimal(l.R, 2), FormatInt(l.Nplus), FormatDecimal(l.RelativeP, 2), FormatDecimal(l.RelativeR, 2), FormatDecimal(l.RelativeNplus, 2)})
	}
	return append([]Table{rows, losses}, p.detailTables()...)
}

func (p *Profiles) detailTables() []Table {
	details := Table{Name: "profile-search", Title: "What is found: of capia's ten nearest at AP-10, of the ten nearest in the clear, and how capia's time compares with that of profile paper",
		Columns: []string{"profile", "ivf, AP-10", "by rank, AP-10", "capia of plain", "sealed of plain", "capia over paper's", "set up in s"}}
	probable := Table{Name: "profile-probability", Title: "The calibrated ranker on the test images, scheme capia: calibration error, and the keywords that are as probable as not",
		Columns: []string{"profile", "ECE, all words", "ECE, five given", "P %", "R %", "N+", "keywords a photo", "right", "photos without"}}
	found := Table{Name: "profile-found", Title: "Keywords found of a photo, means, five given, scheme capia: by the paper's W_t, by probability, and with rare words given their due; and what cross-validation had said of the last, in tenths of the training images",
		Columns: []string{"profile", "human", "W_t", "probable", "rare", "P %", "R %", "N+"}}
	bins := Table{Name: "profile-reliability", Title: "Reliability of the probabilities of all words of all neighbours", Columns: []string{"profile", "said", "found", "words"}}
	for _, d := range p.Details {
		details.Rows = append(details.Rows, []string{d.Profile, FormatDecimal(d.Recall["ivf"], 4), FormatDecimal(d.Recall["rank"], 4), FormatDecimal(d.OfPlain["capia"], 4), FormatDecimal(d.OfPlain["sealed"], 4), FormatDecimal(d.CapiaRatio, 4), FormatDecimal(d.Fit, 1)})
		q := d.Probable
		probable.Rows = append(probable.Rows, []string{d.Profile, FormatDecimal(d.ECE, 4), FormatDecimal(d.ECEKept, 4), FormatDecimal(q.P, 2), FormatDecimal(q.R, 2), FormatInt(q.Nplus), FormatDecimal(q.Keywords, 2), FormatDecimal(q.Precision, 3), FormatDecimal(q.WithoutKeywords, 3)})
		f := []string{d.Profile, FormatDecimal(d.Found.Human, 2), FormatDecimal(d.Found.Paper, 2), FormatDecimal(d.Found.Probable, 2), FormatDecimal(d.Found.Rare, 2), "", "", ""}
		if v := d.Validation; v != nil {
			f = append(f[:5], FormatDecimal(v.P, 2), FormatDecimal(v.R, 2), FormatDecimal(v.Nplus, 1))
		}
		found.Rows = append(found.Rows, f)
		for _, b := range d.Bins {
			if b.Count > 0 {
				bins.Rows = append(bins.Rows, []string{d.Profile, FormatDecimal(b.Predicted, 3), FormatDecimal(b.Observed, 3), FormatInt(b.Count)})
			}
		}
	}
	costs := Table{Name: "profile-cost", Title: fmt.Sprintf("What each profile costs at n = %d, milliseconds on one core", p.CostRecords),
		Columns: []string{"profile", "scheme", "index MB", "of it profile MB", "request B", "reply B", "cloud ms", "features ms", "vector ms", "request ms", "reply ms"}}
	for _, c := range p.Costs {
		costs.Rows = append(costs.Rows, []string{c.Profile, c.Scheme, FormatDecimal(float64(c.IndexBytes)/1e6, 2), FormatDecimal(float64(c.ProfileBytes)/1e6, 2), FormatInt(c.Request), FormatInt(c.Reply), FormatDecimal(c.Cloud, 3),
			FormatDecimal(c.Features, 2), FormatDecimal(c.Project, 3), FormatDecimal(c.Encrypt, 3), FormatDecimal(c.Read, 3)})
	}
	return []Table{details, found, probable, bins, costs, p.sampleTable()}
}

// sampleTable shows correct words in capitals.
func (p *Profiles) sampleTable() Table {
	t := Table{Name: "profile-samples", Title: "Sample annotations by profile; IN CAPITALS what a person said too", Columns: []string{"image"}}
	for _, d := range p.Details {
		t.Columns = append(t.Columns, d.Profile)
	}
	t.Columns = append(t.Columns, "human")
	for _, s := range p.Samples {
		row := []string{s.Name}
		for _, w := range s.Words {
			row = append(row, capitals(w.Keywords))
		}
		t.Rows = append(t.Rows, append(row, strings.Join(s.Human, ", ")))
	}
	return t
}

// Tables implements Result.
func (g *ProfileGrowth) Tables() []Table {
	t := Table{Name: "profile-growth", Title: fmt.Sprintf("Scheme sealed with learnt vectors of %d dimensions as it grows; owner on all cores; memory of both sides together, %s MB of it before they began", g.Dim, FormatDecimal(g.BaseMB, 0)),
		Columns: []string{"n", "cloud ms, one core", "cloud ms, all cores", "owner: request ms", "owner: reply ms", "request kB", "reply kB", "hints MB", "keywords MB", "index MB", "memory MB", "memory of adding MB", "added in s"}}
	for _, r := range g.Rows {
		t.Rows = append(t.Rows, []string{FormatInt(r.Records), FormatDecimal(r.Cloud, 2), FormatDecimal(r.CloudAll, 2), FormatDecimal(r.Encrypt, 2), FormatDecimal(r.Read, 1), FormatDecimal(float64(r.Request)/1e3, 0), FormatDecimal(float64(r.Reply)/1e3, 0),
			FormatDecimal(float64(r.Hints)/1e6, 1), FormatDecimal(float64(r.Table)/1e6, 1), FormatDecimal(float64(r.Index)/1e6, 0), FormatDecimal(r.PeakMB, 0), FormatDecimal(r.AddMB, 0), FormatNonZero(r.Add, 1)})
	}
	return []Table{t}
}

package paper

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Every value needs a source, and related values must agree: AP-100 equals
// CAPIA in accuracy, but not in time.
func TestValues(t *testing.T) {
	p := Values()
	seen := map[string]bool{}
	for _, n := range p.Numbers {
		if n.ID == "" || n.What == "" || n.Place == "" || n.Value <= 0 || seen[n.ID] {
			t.Errorf("%+v is incomplete or there twice", n)
		}
		seen[n.ID] = true
	}
	if p.Recall[0].Value != p.CapiaRecall || p.Cost[0].Value >= p.CapiaSeconds {
		t.Errorf("AP-100: recall %v and time %v, CAPIA %v and %v", p.Recall[0], p.Cost[0], p.CapiaRecall, p.CapiaSeconds)
	}
	for i, x := range p.TradeOff[1:] {
		if before := p.TradeOff[i]; x.Speedup <= before.Speedup || x.Relative >= before.Relative {
			t.Errorf("trade-off %v after %v", x, before)
		}
	}
	for _, section := range []string{"records", "request_parts", "cost", "recall", "tradeoff", "published"} {
		if p.Places[section] == "" {
			t.Errorf("%s has no place", section)
		}
	}
	if p.Number("split_fields").Value != 348 {
		t.Error("|SF|")
	}
}

// Remarks in paper.json repeat a few of its values.
func TestWordsRepeatTheValues(t *testing.T) {
	p := Values()
	n := thousands(p)
	if !strings.HasPrefix(p.Machine, n+" images") || !strings.Contains(p.Places["cost"], "n = "+n+";") {
		t.Errorf("%s records, but %q and %q", n, p.Machine, p.Places["cost"])
	}
	if got, want := p.Number("request_bytes").Note, p.Parts()+", which is "+Digits(sum(p.RequestParts))+"; what the other 2 are is not said"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Every row of the table in PAPER.md quotes paper.json, and every number of the
// file has a row.
func TestDocumentQuotesTheValues(t *testing.T) {
	b, err := os.ReadFile("../../docs/PAPER.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n## Numbers of the paper\n")
	if !ok {
		t.Fatal("PAPER.md has no numbers")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	p := Values()
	want := cells(p)
	for line := range strings.Lines(section) {
		row := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		if len(row) != 5 || row[1] == " number " || strings.HasPrefix(row[1], "--") {
			continue
		}
		what, quoted, part := strings.ReplaceAll(strings.TrimSpace(row[1]), "\x00", "|"), strings.TrimSpace(row[2]), strings.TrimSpace(row[3])
		cell, ok := want[what]
		if !ok {
			t.Errorf("PAPER.md: %q is not in paper.json, or there twice", what)
			continue
		}
		delete(want, what)
		if quoted != cell.text {
			t.Errorf("PAPER.md: %s is %q, in paper.json %q", what, quoted, cell.text)
		}
		for _, id := range cell.ids {
			if place := strings.TrimPrefix(p.Number(id).Place, "evaluation: "); part != place {
				t.Errorf("PAPER.md: %s belongs to %q, in paper.json to %q", what, part, place)
			}
		}
	}
	for what := range want {
		t.Errorf("PAPER.md has no row %q", what)
	}
	var quoted []string
	for _, c := range cells(p) {
		quoted = append(quoted, c.ids...)
	}
	for _, n := range p.Numbers {
		if !slices.Contains(quoted, n.ID) {
			t.Errorf("PAPER.md has no row for %s", n.ID)
		}
	}
}

// A cell is the text of PAPER.md about a number, with its IDs in paper.json.
type cell struct {
	text string
	ids  []string
}

func cells(p *Paper) map[string]cell {
	text := func(id string) string { return p.Number(id).Text() }
	percent := func(x float64) string { return Digits(x) + " %" }
	var speedups, relative []string
	for _, x := range p.TradeOff {
		speedups = append(speedups, Digits(x.Speedup))
		relative = append(relative, Digits(x.Relative))
	}
	boxed := 2*p.Number("m_hat").Value + 2
	out := map[string]cell{
		"dimensions of the L1 and the KL vector": {text("m_l1") + ", and " + text("m_kl") + " (inferred, not printed)", []string{"m_l1", "m_kl"}},
		"accuracy lost by PCA-8 to PCA-32":       {"within " + text("pca_loss"), []string{"pca_loss"}},
		"elements of a boxed H":                  {"2m̂ + 2 = " + Digits(boxed), nil},
		"cloud time, CAPIA, n = " + thousands(p): {p.CostOfCapia().Text(), nil},
		"cloud time, AP-100":                     {p.CostAt(100).Text(), nil},
		"cloud time, AP-2.5":                     {p.CostAt(2.5).Text(), nil},
		"accuracy at AP-100 and of CAPIA":        {percent(p.CapiaRecall), nil},
		"accuracy at AP-2.5":                     {percent(p.Recall[len(p.Recall)-1].Value), nil},
		"speedup over CAPIA":                     {strings.Join(speedups, ", "), nil},
		"accuracy relative to CAPIA":             {strings.Join(relative, ", ") + " %", nil},
		"a request":                              {text("request_bytes") + " (" + p.Parts() + ")", []string{"request_bytes"}},
	}
	for what, id := range map[string]string{
		"dimension of the approximated vector, α = 1, γ = 100": "m_hat",
		"error of the L1 approximation there":                  "jl_error",
		"construction of the forest":                           "forest_build",
		"encryption of the vectors of an image":                "vector_encrypt",
		"encryption of the hyperplane vectors":                 "plane_encrypt",
		"order-preserving encryption of a value":               "ope",
		"the whole encrypted forest":                           "forest_encrypt",
		"generation of a request":                              "request_time",
		"final selection of keywords":                          "selection",
		"a reply":                                              "reply_bytes",
		"|SF|":                                                 "split_fields",
	} {
		out[what] = cell{text(id), []string{id}}
	}
	return out
}

func thousands(p *Paper) string {
	return fmt.Sprintf("%d,%03d", p.Records/1000, p.Records%1000)
}

func sum(of []float64) float64 {
	total := 0.0
	for _, x := range of {
		total += x
	}
	return total
}

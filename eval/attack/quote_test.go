package attack

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"
)

// SECURITY.md states how often requests for one photo give away their scale.
func TestSecurityQuotesSlopes(t *testing.T) {
	f, err := os.Open("../results/attacks.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rate := map[string]string{}
	for _, r := range rows {
		if r[0] == "scale-slopes" && r[1] == "cpar" && r[2] == "paper" {
			rate[r[3]] = r[4]
		}
	}
	page, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Several requests for one photo also reveal exactly the secret scale by which each request multiplies distances: three requests suffice for %s %% of photos, and four for all that were tested", rate["3"])
	if rate["4"] != "100" {
		t.Errorf("four requests suffice for %s %% of photos, not for all", rate["4"])
	}
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), want) {
		t.Errorf("SECURITY.md lacks %q", want)
	}
}

package attack

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The documents state how often requests for one photo give away their scale,
// and how often sizes tell which photo was added to an album or fetched.
func TestDocumentsQuoteAttacks(t *testing.T) {
	f, err := os.Open("../results/attacks.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	slopes, blobs, words := map[string]string{}, map[string][]string{}, []string(nil)
	for _, r := range rows {
		switch {
		case r[0] == "scale-slopes" && r[1] == "cpar" && r[2] == "paper":
			slopes[r[3]] = r[4]
		case r[1] == "album" && r[3] == "4999":
			blobs[r[0]] = r[4:8] // success, its interval and guessing
		case r[0] == "word-or-photo":
			words = r[4:9]
		}
	}
	added, fetched := blobs["blob-added"], blobs["blob-fetched"]
	if slopes["4"] == "" || added == nil || fetched == nil || words == nil {
		t.Fatalf("rows of scales, blobs or words are missing: %v %v %v", slopes, blobs, words)
	}
	const security, device = "SECURITY.md", "docs/security/device.md"
	for _, quote := range []struct{ page, want string }{
		{security, fmt.Sprintf("Several requests for one photo reveal this scale exactly: three requests suffice for %s %% of photos, and four for %s %%", slopes["3"], slopes["4"])},
		{security, fmt.Sprintf("named %s %% of the fetched photos of Corel-5k ([`blob-fetched`](docs/security/device.md#the-album)) and %s %% (at most %s %%) of the added ones (`blob-added`). Guessing is right for %s %%", fetched[0], added[0], added[2], added[3])},
		{device, fmt.Sprintf("It was right about %s %% of %s requests (%s to %s, guessing %s %%)", words[0], words[4], words[1], words[2], words[3])},
		{device, fmt.Sprintf("(`blob-added`) | 4,999 | %s %% (%s to %s) | %s %% |", added[0], added[1], added[2], added[3])},
		{device, fmt.Sprintf("(`blob-fetched`) | 4,999 | %s %% (%s to %s) | %s %% |", fetched[0], fetched[1], fetched[2], fetched[3])},
	} {
		page, err := os.ReadFile("../../" + quote.page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), quote.want) {
			t.Errorf("%s lacks %q", quote.page, quote.want)
		}
	}
}

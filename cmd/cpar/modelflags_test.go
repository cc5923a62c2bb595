package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"testing"

	"cpar/model/profile"
)

func TestModelNoteQuotesMeasurements(t *testing.T) {
	page, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	rankers := map[profile.Kind]string{profile.Paper: "the paper's W_t", profile.Learned: "calibrated", profile.Network: "calibrated"}
	for kind, want := range found {
		row := regexp.MustCompile("(?m)^\\| `" + kind.String() + "`, " + rankers[kind] + " \\| `sealed` \\|.*\\| ([0-9.]+) \\([^|]*\\) \\|$").FindSubmatch(page)
		var measured float64
		if row == nil {
			t.Errorf("docs/results.md has no row of profile %v", kind)
		} else if _, err := fmt.Sscan(string(row[1]), &measured); err != nil || fmt.Sprintf("%.1f", measured) != fmt.Sprintf("%.1f", want) {
			t.Errorf("docs/results.md states that profile %v finds %s, and the note states %g", kind, row[1], want)
		}
	}
}

func TestModelCheckJSONFields(t *testing.T) {
	const want = `{"embedding":{"name":"","size":0,"reason":""},"preprocessing":null,"missing":[],"ms":{"go":null,"onnxruntime":null}}`
	if got, err := json.Marshal(&checkedModel{Missing: []string{}}); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

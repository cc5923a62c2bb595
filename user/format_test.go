package user

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"cpar"
)

func TestFormatNamesTheVersions(t *testing.T) {
	page, err := os.ReadFile("../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("Every format has version %d,", cpar.Version),
		fmt.Sprintf("the ledger version %d;", ledgerVersion),
		fmt.Sprintf("%d for `%c` |", ledgerVersion, ledgerKind),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/FORMAT.md does not say %q", want)
		}
	}
}

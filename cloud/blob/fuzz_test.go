package blob

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cpar"
)

func FuzzCredentials(f *testing.F) {
	for _, seed := range []string{"", "AWS_ACCESS_KEY_ID=one\nGS_ACCESS_KEY_ID='two'\n", "# a\n\nexport AWS_REGION=x=\"y\"", "=", "x", "AWS_REGION=\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		values, err := parseCredentials(b)
		if err != nil {
			if !errors.Is(err, cpar.ErrInput) {
				t.Error(err)
			}
			return
		}
		for name, value := range values {
			if !slices.Contains(credentialNames, name) || strings.ContainsAny(value, "\n") || !strings.Contains(string(b), value) {
				t.Errorf("%s is %q", name, value)
			}
		}
	})
}

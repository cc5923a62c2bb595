package arm64words

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDifferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "good_arm64.s")
	good := "TEXT ·f(SB), $0\n" +
		"\t// WORD is explained here.\n" +
		"\tWORD $0x4e21d400 // fadd v0.4s, v0.4s, v1.4s\n" +
		"\tADD  $1, R0\n" +
		"\tWORD $0x4f821020 // fmla v0.4s, v1.4s, v2.s[0]\n"
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	Check(t, filepath.Dir(file)) // skips without objdump
	for what, text := range map[string]string{
		`line 3: the comment is "fadd v0.4s, v0.4s, v2.4s"`: strings.Replace(good, "v1.4s\n", "v2.4s\n", 1),
		`line 5: the comment is "fmla v0.4s`:                strings.Replace(good, "0x4f82", "0x4fa2", 1),
		`line 3: want one WORD`:                             strings.Replace(good, " // fadd v0.4s, v0.4s, v1.4s", "", 1),
		`line 5: want one WORD`:                             strings.Replace(good, "// fmla", "; WORD $0xd503201f // fmla", 1),
	} {
		got, err := differences([]byte(text))
		if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], what) {
			t.Errorf("%q has the differences %q and the error %v, want %q", text, got, err, what)
		}
	}
}

// Package arm64words checks the instructions that kernels for arm64 write as
// numbers, because Go's assembler lacks them.
//
//	WORD $0x4e21d400 // fadd v0.4s, v0.4s, v1.4s
//
// GNU objdump reads the number, and its reading must equal the comment.
package arm64words

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const objdump = "aarch64-linux-gnu-objdump"

// Check fails the test for each WORD of the package's *_arm64.s files that
// differs from its comment. It skips the test if objdump is missing, and fails
// it if CPAR_OBJDUMP=required.
func Check(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_arm64.s"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly for arm64 in %s: %v", dir, err)
	}
	if _, err := exec.LookPath(objdump); err != nil {
		if os.Getenv("CPAR_OBJDUMP") == "required" {
			t.Fatalf("%v, and CPAR_OBJDUMP=required", err)
		}
		t.Skipf("%v: Debian's binutils-aarch64-linux-gnu has it", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wrong, err := differences(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, what := range wrong {
			t.Errorf("%s, %s", file, what)
		}
	}
}

var word = regexp.MustCompile(`\bWORD\b(?:\s+\$(0x[0-9a-f]{8})\s+// (\S.*))?`)

// differences lists the WORDs of an assembly file that objdump reads
// differently, and those without a comment.
func differences(text []byte) (out []string, err error) {
	var code []byte
	var comments []string
	var lines []int
	for i, line := range strings.Split(string(text), "\n") {
		m := word.FindStringSubmatch(line)
		switch {
		case m == nil || strings.HasPrefix(strings.TrimSpace(line), "//"):
		case m[1] == "" || strings.Count(line, "WORD") > 1:
			out = append(out, fmt.Sprintf("line %d: want one WORD with 8 digits and its instruction: %q", i+1, line))
		default:
			v, err := strconv.ParseUint(m[1], 0, 32)
			if err != nil {
				return nil, err
			}
			code = binary.LittleEndian.AppendUint32(code, uint32(v))
			comments, lines = append(comments, m[2]), append(lines, i+1)
		}
	}
	read, err := disassemble(code)
	if err != nil || len(read) != len(comments) {
		return nil, fmt.Errorf("objdump read %d of %d words: %v", len(read), len(comments), err)
	}
	for i, comment := range comments {
		if comment != read[i] {
			out = append(out, fmt.Sprintf("line %d: the comment is %q, and objdump reads %q", lines[i], comment, read[i]))
		}
	}
	return out, nil
}

// disassemble returns objdump's reading of each instruction.
func disassemble(code []byte) (out []string, err error) {
	if len(code) == 0 {
		return nil, nil
	}
	file, err := os.CreateTemp("", "arm64words")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(code)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	text, err := exec.Command(objdump, "-D", "-z", "-b", "binary", "-m", "aarch64", file.Name()).Output()
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", objdump, err)
	}
	for line := range strings.Lines(string(text)) {
		// An instruction is "address:\tnumber \tmnemonic\toperands".
		if fields := strings.Split(strings.TrimSpace(line), "\t"); len(fields) > 2 {
			out = append(out, strings.Join(fields[2:], " "))
		}
	}
	return out, nil
}

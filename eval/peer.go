package eval

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

// peerSource is compiled on the measuring machine, so that FLANN is as fast as its
// compiler can make it.
//
//go:embed peer/flann.cpp
var peerSource []byte

// peerFlags compile the driver as Debian compiles FLANN, but with unrolled loops, which
// speeds up its distances. They enable no instruction sets beyond the baseline, as in the
// Go compiler.
var peerFlags = []string{"-std=c++17", "-O3", "-DNDEBUG", "-w"}

// peer is the compiled driver in its own folder.
type peer struct {
	folder, program string
}

// newPeer compiles the driver. If there is no compiler or no FLANN the error wraps
// cpar.ErrInput and its hint names the packages to install.
func newPeer(ctx context.Context) (*peer, error) {
	missing := func(format string, args ...any) error {
		err := fmt.Errorf("compiling the driver of FLANN: %w: %s", cpar.ErrInput, fmt.Sprintf(format, args...))
		return hint.Add(err, "install a C++ compiler and FLANN: on Debian, apt-get install g++ libflann-dev")
	}
	compiler := os.Getenv("CXX")
	if compiler == "" {
		compiler = "g++"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		return nil, missing("%v", err)
	}
	folder, err := os.MkdirTemp("", "cpar-flann-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the driver of FLANN: %w: %w", cpar.ErrStorage, err)
	}
	p := &peer{folder: folder, program: filepath.Join(folder, "flann")}
	source := filepath.Join(folder, "flann.cpp")
	if err := os.WriteFile(source, peerSource, 0o600); err != nil {
		p.close()
		return nil, fmt.Errorf("writing the driver of FLANN: %w: %w", cpar.ErrStorage, err)
	}
	args := append(append([]string{}, peerFlags...), "-o", p.program, source, "-llz4")
	if out, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput(); err != nil {
		p.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return nil, missing("%s: %v: %s", compiler, err, first)
	}
	return p, nil
}

func (p *peer) close() { os.RemoveAll(p.folder) }

// peerLine is one line of the driver's output.
type peerLine struct {
	Search  string  `json:"search"` // kdtree or scan
	Build   int     `json:"build"`
	Checks  int     `json:"checks"`
	Recall  float64 `json:"recall"`
	Seconds float64 `json:"seconds"` // per request
	Visited float64 `json:"visited"` // per request: distances computed
}

const (
	peerUnlimited = -1 // unlimited checks
	peerScan      = 0  // instead of checks: FLANN's linear search
)

// run writes the vectors once and runs the driver over them. It calls line for every
// result as it arrives.
func (p *peer) run(ctx context.Context, t *vectorTable, trees, builds int, checks []int, line func(peerLine)) error {
	args := []string{filepath.Join(p.folder, "records"), filepath.Join(p.folder, "requests"), filepath.Join(p.folder, "truth")}
	bits := func(rows [][]float32) [][]uint32 {
		out := make([][]uint32, len(rows))
		for i, row := range rows {
			for _, x := range row {
				out[i] = append(out[i], math.Float32bits(x))
			}
		}
		return out
	}
	for i, rows := range [][][]uint32{bits(t.records), bits(t.requests), t.truth} {
		if err := writeTable(args[i], rows); err != nil {
			return err
		}
	}
	args = append(args, strconv.Itoa(trees), strconv.Itoa(builds))
	for _, c := range checks {
		if c == peerScan {
			args = append(args, "scan")
		} else {
			args = append(args, strconv.Itoa(c))
		}
	}
	cmd := exec.CommandContext(ctx, p.program, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("running the driver of FLANN: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running the driver of FLANN: %w", err)
	}
	lines := bufio.NewScanner(out)
	var bad error
	for lines.Scan() {
		var l peerLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil && bad == nil {
			bad = fmt.Errorf("reading the output of FLANN's driver: %w", err)
			continue
		}
		line(l)
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("running the driver of FLANN: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return bad
}

// writeTable writes n and d and then n·d values, all little-endian, four bytes each.
func writeTable(name string, rows [][]uint32) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(rows)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(rows[0])))
	for _, row := range rows {
		for _, x := range row {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		return fmt.Errorf("writing vectors for FLANN: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

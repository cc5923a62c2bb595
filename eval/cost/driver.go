package cost

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

// peerSources holds drivers, which are compiled on the measuring machine for
// its processor.
//
//go:embed driver/*.cpp driver/driver.h
var peerSources embed.FS

// peerFlags are Debian's flags for these libraries, except that loops over
// distances are unrolled.
var peerFlags = []string{"-std=c++17", "-O3", "-DNDEBUG", "-w"}

// A library is a third-party library with the flags that compile its driver,
// driver/NAME.cpp.
type library struct {
	name, title, packages string
	flags                 []string
}

var (
	// flannLibrary is compared with plain Go, so both are compiled for the
	// baseline instruction set.
	flannLibrary = library{"flann", "FLANN", "libflann-dev", []string{"-llz4"}}
	// hnswLibrary and faissLibrary are compared with this machine's fastest
	// kernels, so they use all of its instructions.
	hnswLibrary  = library{"hnsw", "hnswlib", "libhnswlib-dev", []string{"-march=native"}}
	faissLibrary = library{"faiss", "faiss", "libfaiss-dev liblapack-dev", []string{"-lfaiss", "-llapack", "-lblas", "-fopenmp"}}
)

type driver struct {
	library
	folder, program string
}

// compileDriver compiles a driver. If the compiler or the library is missing,
// its error wraps cpar.ErrInput and names the packages to install.
func compileDriver(ctx context.Context, l library) (*driver, error) {
	missing := func(format string, args ...any) error {
		err := fmt.Errorf("compiling the driver of %s: %w: %s", l.title, cpar.ErrInput, fmt.Sprintf(format, args...))
		return hint.Add(err, "install a C++ compiler and %s: on Debian, apt-get install g++ %s", l.title, l.packages)
	}
	compiler := cmp.Or(os.Getenv("CXX"), "g++")
	if _, err := exec.LookPath(compiler); err != nil {
		return nil, missing("%v", err)
	}
	folder, err := os.MkdirTemp("", "cpar-peer-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the driver of %s: %w: %w", l.title, cpar.ErrStorage, err)
	}
	p := &driver{library: l, folder: folder, program: filepath.Join(folder, l.name)}
	sources, err := fs.Sub(peerSources, "driver")
	if err == nil {
		err = os.CopyFS(folder, sources)
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("writing the driver of %s: %w: %w", l.title, cpar.ErrStorage, err)
	}
	args := slices.Concat(peerFlags, []string{"-o", p.program, p.program + ".cpp"}, l.flags)
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

func (p *driver) close() { os.RemoveAll(p.folder) }

type driverLine struct {
	Search  string  `json:"search"` // kdtree or scan, for FLANN
	Build   int     `json:"build"`
	Checks  int     `json:"checks"` // bound on visited records, or the library's own bound
	Bytes   float64 `json:"bytes"`  // size of the index with its vectors
	Recall  float64 `json:"recall"`
	Seconds float64 `json:"seconds"` // time per request
	Visited float64 `json:"visited"` // distances computed per request
}

const (
	peerUnlimited = -1 // an unlimited number of checks
	peerScan      = 0  // not a number of checks, but FLANN's linear search
)

func flannArguments(trees, builds int, checks []int) []string {
	args := []string{strconv.Itoa(trees), strconv.Itoa(builds)}
	for _, c := range checks {
		if c == peerScan {
			args = append(args, "scan")
		} else {
			args = append(args, strconv.Itoa(c))
		}
	}
	return args
}

// run runs the driver on t. It calls `line` with every result as soon as the
// result arrives.
func (p *driver) run(ctx context.Context, t *vectorTable, arguments []string, line func(driverLine)) error {
	args := []string{filepath.Join(p.folder, "records"), filepath.Join(p.folder, "requests"), filepath.Join(p.folder, "truth")}
	if err := cmp.Or(writeTable(args[0], t.records), writeTable(args[1], t.requests), writeTable(args[2], t.truth)); err != nil {
		return err
	}
	args = append(args, arguments...)
	cmd := exec.CommandContext(ctx, p.program, args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("running the driver of %s: %w", p.title, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running the driver of %s: %w", p.title, err)
	}
	lines := bufio.NewScanner(out)
	var bad error
	for lines.Scan() {
		var l driverLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil && bad == nil {
			bad = fmt.Errorf("reading the output of the driver of %s: %w", p.title, err)
			continue
		}
		line(l)
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("running the driver of %s: %w: %s", p.title, err, strings.TrimSpace(complaint.String()))
	}
	return bad
}

// writeTable writes n, d and n·d values, each as four bytes in little-endian
// order.
func writeTable[T uint32 | float32](name string, rows [][]T) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(rows)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(rows[0])))
	for _, row := range rows {
		b, _ = binary.Append(b, binary.LittleEndian, row) // never an error, because T has a fixed size
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		return fmt.Errorf("writing vectors for a driver: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

package cost

import (
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/eval/measure"
	"cpar/eval/measure/measuretest"
	"cpar/model/profile"
	"cpar/user"
)

// The records fill more than one group.
func TestBGVComputesTheSameScores(t *testing.T) {
	c := measuretest.Learnable(150, 4)
	b, err := user.Setup(t.Context(), user.NewKey(), c.Train, user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Network})
	if err != nil {
		t.Fatal(err)
	}
	twin, err := b.Twin()
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := twin.Rows()
	var records [][]int16
	var addends []int64
	for i := range 150 {
		row, addend := rows.Row(i)
		records, addends = append(records, slices.Clone(row)), append(addends, addend)
	}
	const many = 4096 + 30 // a ciphertext has 4096 slots
	for len(records) < many {
		records, addends = append(records, records[len(records)-150]), append(addends, addends[len(addends)-150])
	}
	x, err := newBGV(records, addends)
	if err != nil {
		t.Fatal(err)
	}
	v, err := b.Vector(c.Test[0].Vectors)
	if err != nil {
		t.Fatal(err)
	}
	u, err := rows.Request(v)
	if err != nil {
		t.Fatal(err)
	}
	want, err := rows.Scores(v)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x.request(u)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := x.answer(request)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.read(reply)
	if err != nil || len(got) != many || len(reply) != 2 {
		t.Fatalf("%d scores in %d ciphertexts: %v", len(got), len(reply), err)
	}
	for i, score := range got {
		if score != want[i%150] {
			t.Fatalf("record %d: %d, want %d", i, score, want[i%150])
		}
	}
}

// librarySearches lists the searches of each library, by its package.
var librarySearches = map[string][]string{
	"libflann-dev":   {"FLANN, kd-forest, a tenth visited", "FLANN, scan"},
	"libhnswlib-dev": {"hnswlib, ef 50", "hnswlib, ef 200"},
	"libfaiss-dev":   {"faiss, scan", "faiss, inverted file, a tenth of the lists"},
}

// expectedSearches returns the number of rows of each search, given the messages
// about missing libraries.
func expectedSearches(skipped []string) map[string]int {
	want := map[string]int{"sealed": 2, "BGV of lattigo, ciphertext × ciphertext": 2, "scan of float32, Go": 2}
	for library, searches := range librarySearches {
		if !strings.Contains(strings.Join(skipped, "\n"), library) {
			for _, name := range searches {
				want[name] = 2
			}
		}
	}
	return want
}

// A compiler that lacks the headers of some libraries stands for every subset of
// them.
func TestEachMissingLibraryIsSkippedAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the compiler of this test is a shell script")
	}
	t.Setenv("CXX", filepath.Join(t.TempDir(), "c++"))
	drivers := map[string]library{"libflann-dev": flannLibrary, "libhnswlib-dev": hnswLibrary, "libfaiss-dev": faissLibrary}
	libraries := slices.Sorted(maps.Keys(librarySearches))
	for subset := range 1 << len(libraries) {
		script := "#!/bin/sh\ncase \"$*\" in none"
		for i, library := range libraries {
			if subset>>i&1 == 1 {
				script += " | *" + drivers[library].name + ".cpp*"
			}
		}
		script += ") echo header: No such file or directory >&2; exit 1;; esac\n"
		if err := os.WriteFile(os.Getenv("CXX"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		out := &Baselines{}
		for _, library := range libraries {
			d, err := compileDriver(t.Context(), drivers[library])
			if err == nil {
				d.close()
			} else if !out.skip(err) {
				t.Fatal(err)
			}
		}
		skipped := out.Skipped
		want := expectedSearches(skipped)
		if len(want) != 3+2*(len(libraries)-bits.OnesCount(uint(subset))) {
			t.Errorf("without %v: %v", skipped, want)
		}
		for i, library := range libraries {
			if _, ok := want[librarySearches[library][0]]; ok == (subset>>i&1 == 1) {
				t.Errorf("without %v: %s expected %v", skipped, library, ok)
			}
		}
	}
}

func TestBaselinesHaveEverySearch(t *testing.T) {
	p, err := MeasureBaselines(t.Context(), measuretest.NewLab(t, 120, 12), 150)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Skipped) > 0 && os.Getenv("CPAR_FLANN") == "required" {
		t.Fatal(p.Skipped)
	}
	want := expectedSearches(p.Skipped)
	for _, r := range p.Rows {
		want[r.Search]--
		private := strings.HasPrefix(r.Leaks, "nothing")
		if r.Records != 150 || r.Index < uint64(150*r.Dim) || r.Cloud <= 0 || private != (r.Owner > 0) || r.Request < 4*r.Dim || r.Reply < 80 {
			t.Errorf("%+v", r)
		}
		// Equally near records may replace each other.
		if exact := private || strings.Contains(r.Search, "scan"); exact && r.Recall < 0.97 || r.Recall < 0.1 || r.Recall > 1 {
			t.Errorf("%+v", r)
		}
	}
	for name, n := range want {
		if n != 0 {
			t.Errorf("%s: %d rows too few", name, n)
		}
	}
	if rows := p.Tables()[0].Rows; len(rows) != len(p.Rows) {
		t.Errorf("%d rows", len(rows))
	}
}

func TestMissingLibrariesAreSkipped(t *testing.T) {
	t.Setenv("CXX", "no-such-compiler")
	c, p := measuretest.Learnable(110, 3), new(Baselines)
	fit, err := profile.Fit(t.Context(), profile.Network, measure.FeaturesOf(c.Train), measure.Keywords(c.Train), profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.measure(t.Context(), c, fit, nil); err != nil || len(p.Skipped) != 3 || len(p.Rows) != 3 || len(p.Tables()) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, name := range []string{"libflann-dev", "libhnswlib-dev", "libfaiss-dev"} {
		if !strings.Contains(p.Skipped[i], name) {
			t.Errorf("%q does not name %s", p.Skipped[i], name)
		}
	}
}

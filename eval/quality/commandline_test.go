package quality

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpar/eval/measure"
	"cpar/internal/scene"
	"cpar/internal/testing/oracle"
	"cpar/model/profile"
	"cpar/photo/dataset"
)

// One more draw is outside the range of rangeDraws draws one time in four.
// Widened on either side by twice its width, the range excludes less than one
// in a thousand. A width of 0 counts as one point, one keyword, or a tenth of a
// keyword per photo.
const rangeDraws, widened = 7, 2.

func TestCommandLineScoresWithinDraws(t *testing.T) {
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", programs+string(filepath.Separator), "cpar/cmd/cpar", "cpar/cmd/cpard")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Run("scenes", func(t *testing.T) {
		dir := t.TempDir()
		var train, test []dataset.Photo
		for i := range 140 {
			jpg, words, err := scene.RenderJPEG(11, i)
			if err != nil {
				t.Fatal(err)
			}
			half, to := "photos", &train
			if i >= 110 {
				half, to = "new", &test
			}
			*to = append(*to, putPhoto(t, dir, half, fmt.Sprintf("%03d.jpg", i), jpg, words))
		}
		commandLineIsWithinDraws(t, programs, dir, train, test, profile.Learned)
	})
	t.Run("photographs", func(t *testing.T) {
		c, err := dataset.Open(t.Context(), oracle.Path(t, "data/corel5k"), dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		train, test, _, err := c.Split()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		some := func(half string, items []dataset.Photo, n int) (out []dataset.Photo) {
			for k := range n {
				it := items[k*len(items)/n]
				jpg, err := os.ReadFile(it.Path)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, putPhoto(t, dir, half, filepath.Base(it.Name), jpg, it.Keywords))
			}
			return out
		}
		commandLineIsWithinDraws(t, programs, dir, some("photos", train, 400), some("new", test, 100), profile.Paper)
	})
}

func putPhoto(t *testing.T, dir, half, name string, jpg []byte, words []string) dataset.Photo {
	t.Helper()
	path := filepath.Join(dir, half, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, jpg, 0o600); err != nil {
		t.Fatal(err)
	}
	return dataset.Photo{Name: name, Path: path, Keywords: words}
}

func commandLineIsWithinDraws(t *testing.T, programs, dir string, train, test []dataset.Photo, kind profile.Kind) {
	cache := t.TempDir()
	c, err := measure.ReadCorpus(t.Context(), train, test, cache, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var fit *profile.Fitted
	var p, r, nplus, found []float64
	for d := 1; d <= rangeDraws; d++ {
		if fit == nil || kind != profile.Paper {
			if fit, err = fitProfile(t.Context(), c.InOrderOf(d), kind, nil); err != nil {
				t.Fatal(err)
			}
		}
		run, err := drawProfile(t.Context(), c.InOrderOf(d), fit, []string{"sealed"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := run.drawRows([]string{"sealed"})
		if err != nil {
			t.Fatal(err)
		}
		row := rows[len(rows)-1]
		if row.Ranker != "calibrated" || row.Scheme != "sealed" {
			t.Fatalf("the last row is %+v", row)
		}
		p, r, nplus, found = append(p, row.P), append(r, row.R), append(nplus, float64(row.Nplus)), append(found, row.Found)
	}
	if err := dataset.WriteManifestFile(filepath.Join(dir, "photos"), train); err != nil {
		t.Fatal(err)
	}
	shown := askCommandLine(t, programs, dir, cache, kind, test)
	truth := measure.Keywords(c.Test)
	q := measure.MeasureQuality(shown, truth)
	for _, x := range []struct {
		what       string
		got, least float64
		of         []float64
	}{{"P", q.P, 1, p}, {"R", q.R, 1, r}, {"N+", float64(q.Nplus), 1, nplus}, {"words found a photo", measure.MeanKeywordsFound(shown, truth), 0.1, found}} {
		s := meanRange(x.of)
		width := widened * max(s.High-s.Low, x.least)
		t.Logf("%s: %.2f by the command line, %.2f to %.2f in %d draws", x.what, x.got, s.Low, s.High, rangeDraws)
		if x.got < s.Low-width || x.got > s.High+width {
			t.Errorf("%s is %.2f by the command line, and %v in %d draws", x.what, x.got, x.of, rangeDraws)
		}
	}
}

// askCommandLine runs cpar build, push and annotate, and returns the test
// photos' keywords.
func askCommandLine(t *testing.T, programs, dir, cache string, kind profile.Kind, test []dataset.Photo) [][]string {
	t.Helper()
	home := t.TempDir()
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(programs, name), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "LocalAppData="+home, "AppData="+home)
		return cmd
	}
	cpar := func(args ...string) []byte {
		t.Helper()
		cmd := command("cpar", append(args, "--key", "family.key")...)
		var notes strings.Builder
		cmd.Stderr = &notes
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("cpar %s: %v: %s", args[0], err, notes.String())
		}
		return out
	}
	cpar("init", "--no-passphrase")
	cpar("build", "photos", "--out", "family.index", "--cache", cache, "--profile", kind.String(), "--ranker", "calibrated")
	cloud := command("cpard", "serve", "--data", "cloud", "--listen", "127.0.0.1:0")
	said, err := cloud.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cloud.Process.Kill()
		cloud.Wait()
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the cloud says %q, %v", line, err)
	}
	push := command("cpar", "push", "family.index", "--cloud", url)
	if out, err := push.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	byName := map[string][]string{}
	for line := range bytes.Lines(cpar("annotate", "new", "--cloud", url, "--json", "--min-probability", "0", "--most", fmt.Sprint(measure.StandardKeywords))) {
		var a struct {
			Photo    string
			Keywords []struct{ Word string }
		}
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(a.Photo)
		byName[name] = []string{}
		for _, k := range a.Keywords {
			byName[name] = append(byName[name], k.Word)
		}
	}
	out := make([][]string, len(test))
	for i, it := range test {
		if out[i], ok = byName[it.Name]; !ok {
			t.Fatalf("%s was not annotated", it.Name)
		}
	}
	return out
}

package metadata

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestFactsAreThoseOfExifTool(t *testing.T) {
	exiftool, err := exec.LookPath("exiftool")
	if err != nil {
		if os.Getenv("CPAR_EXIFTOOL") == "required" {
			t.Fatal(err)
		}
		t.Skip("it writes the facts: ", err)
	}
	file := filepath.Join(t.TempDir(), "a.jpg")
	if err := os.WriteFile(file, plainJPEG(t), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exiftool, "-q", "-overwrite_original", "-DateTimeOriginal=2024:07:16 12:34:56", "-Make=Canon", "-Model=EOS 5D",
		"-Orientation#=6", "-GPSLatitude=48.137154", "-GPSLatitudeRef=N", "-GPSLongitude=11.576124", "-GPSLongitudeRef=W", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := ReadFacts(file)
	if err != nil {
		t.Fatal(err)
	}
	want := time.Date(2024, 7, 16, 12, 34, 56, 0, time.UTC).Unix()
	near := func(a, b float64) bool { return a-b < 1e-5 && b-a < 1e-5 }
	if f.Time != want || f.Camera != "Canon EOS 5D" || f.Orientation != 6 || f.Width != 24 || f.Height != 16 ||
		f.Place == nil || !near(f.Place[0], 48.137154) || !near(f.Place[1], -11.576124) {
		t.Errorf("got %+v, place %v", f, f.Place)
	}
}

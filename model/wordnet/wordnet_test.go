package wordnet

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const tench, tiger, ambulance = 0, 292, 407

func certain(class int) []float32 {
	p := make([]float32, Classes)
	p[class] = 1
	return p
}

func TestProbability(t *testing.T) {
	for _, x := range []struct {
		word  string
		class int
		want  float32
	}{
		{"tiger", tiger, 1}, {"Tigers", tiger, 1}, {"cat", tiger, 0}, {"animal", tiger, 1}, {"fish", tench, 1}, {"fishes", tench, 1},
		{"fish", tiger, 0}, {"car", ambulance, 1}, {"vehicles", ambulance, 1}, {"happiness", tiger, 0}, {"", tiger, 0}, {"s", tiger, 0},
	} {
		if got := Probability(x.word, certain(x.class)); got != x.want {
			t.Errorf("class %d is a %q: %g, want %g", x.class, x.word, got, x.want)
		}
	}
	even := slices.Repeat([]float32{1.0 / Classes}, Classes)
	if got := Probability("bird", even); math.Abs(float64(got)-0.059) > 1e-6 {
		t.Errorf("of all classes, %g are birds, want 59 in 1000", got)
	}
	if Probability("wolves", even) == 0 || Probability("geese", even) == 0 || Probability("festival", even) != 0 {
		t.Error("other known words")
	}
}

// Every concept has the sum of its classes.
func TestNodes(t *testing.T) {
	p := Nodes(certain(tiger))
	if len(p) != NumNodes() || NumNodes() < 1300 {
		t.Fatalf("%d concepts, want %d", len(p), NumNodes())
	}
	above := 0
	for i, v := range p {
		want := float32(0)
		for _, s := range parsed().nodes[i] {
			if s.first <= tiger && tiger < s.last {
				want = 1
			}
		}
		if v != want {
			t.Errorf("concept %d: %g, want %g", i, v, want)
		}
		above += int(v)
	}
	if above < 8 { // tiger, big cat, feline, carnivore, placental, mammal, vertebrate, animal
		t.Errorf("%d concepts above a tiger", above)
	}
}

func TestDamageIsNamed(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
	whole := nouns
	defer func() { nouns = whole }()
	nouns = "1" + whole[1:]
	if err := check(); err == nil || !strings.Contains(err.Error(), "nouns.txt") {
		t.Errorf("a byte changed: %v", err)
	}
}

func TestGenerated(t *testing.T) {
	const dict = "/usr/share/wordnet"
	if _, err := os.Stat(filepath.Join(dict, "data.noun")); err != nil {
		if os.Getenv("CPAR_WORDNET") == "required" {
			t.Fatal(err)
		}
		t.Skip("needs Debian's package wordnet-base")
	}
	out := filepath.Join(t.TempDir(), "nouns.txt")
	if b, err := exec.Command("go", "run", "./gen", dict, out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != nouns {
		t.Errorf("go generate writes another nouns.txt: %v", err)
	}
}

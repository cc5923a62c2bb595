package query

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cpar/internal/exitcode"
	"cpar/photo/metadata"
	"cpar/user/album/catalogue"
)

// finds evaluates a query for a single row.
func finds(n node, p *catalogue.Photo) bool {
	switch n := n.(type) {
	case allOf:
		return !slices.ContainsFunc(n.of, func(m node) bool { return !finds(m, p) })
	case anyOf:
		return slices.ContainsFunc(n.of, func(m node) bool { return finds(m, p) })
	case noneOf:
		return !finds(n.of, p)
	case words:
		return slices.ContainsFunc(p.Keywords, func(k catalogue.Keyword) bool {
			text := " " + strings.Join(tokens(k.Word), " ") + " "
			phrase := " " + strings.Join(n.tokens, " ")
			if !n.begun {
				phrase += " "
			}
			return strings.Contains(text, phrase)
		})
	case folder:
		return strings.HasPrefix(metadata.Fold(p.Folder)+"/", string(n)+"/")
	case camera:
		return strings.Contains(metadata.Fold(p.Camera), string(n))
	case name:
		return strings.Contains(metadata.Fold(p.Name), string(n))
	case path:
		return p.Path() == string(n)
	case dates:
		return n.has(p)
	case place:
		return n.has(p)
	}
	panic(fmt.Sprintf("%T", n))
}

var vocabulary = []string{"dog", "Dogs", "old town", "Old Town Hall", "sea", "sea-side", "Straße", "2024", "black and white", "beach", "été"}

func photos(n int) (all []*catalogue.Photo) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		p := &catalogue.Photo{Folder: []string{"a", "a/b", "ab", "A/B/c", ""}[r.IntN(5)], Name: fmt.Sprintf("IMG_%d.jpg", i),
			Camera: []string{"", "Canon EOS", "Nikon"}[r.IntN(3)], Time: time.Date(2022, 1, r.IntN(1200), 0, 0, 0, 0, time.UTC).Unix()}
		if r.IntN(10) == 0 {
			p.Time = 0
		}
		if r.IntN(2) == 0 {
			p.Place = &catalogue.Place{Lat: int32(4800000 + r.IntN(50000)), Lon: int32(1100000 + r.IntN(50000))}
		}
		for range r.IntN(5) {
			p.Keywords = append(p.Keywords, catalogue.Keyword{Word: vocabulary[r.IntN(len(vocabulary))]})
		}
		all = append(all, p)
	}
	return all
}

// random returns a random query.
func random(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		terms := []string{"dog", "DOG*", "s*", `"old town"`, `"old town hall"`, "sea", "sea-side", "strasse", "2022", "2022-03..2023", "..2022-06", "2024-01-02..",
			"folder:a", "folder:A/b/", "camera:canon", "name:img_1", "path:a/IMG_3.jpg", "place:48.2,11.2~20", "place:48.1,11.1", `"2024"`, "black-and-white", `"and whi"*`, "ÉTÉ", "nothing"}
		return terms[r.IntN(len(terms))]
	}
	a, b := random(r, depth-1), random(r, depth-1)
	return []string{a + " " + b, a + " and " + b, a + " or " + b, "(" + a + " or " + b + ") " + a, "-(" + a + ") " + b, "not " + b, "-" + a}[r.IntN(7)]
}

func TestFindMatchesTwin(t *testing.T) {
	all := photos(500)
	x := NewIndex(all, func(p *catalogue.Photo) bool { return p.Name != "IMG_7.jpg" })
	r := rand.New(rand.NewPCG(7, 8))
	some := 0
	for range 3000 {
		text := random(r, 3)
		q, err := Parse(text, nil)
		if err != nil {
			t.Fatal(text, err)
		}
		var want []*catalogue.Photo
		for _, p := range all {
			if p.Name != "IMG_7.jpg" && finds(q.root, p) {
				want = append(want, p)
			}
		}
		if got := x.Find(q); !slices.Equal(got, want) {
			t.Errorf("%s: found %d, want %d", text, len(got), len(want))
		}
		if len(want) > 0 && len(want) < 400 {
			some++
		}
	}
	if some < 1000 {
		t.Errorf("only %d queries tell photos apart", some)
	}
}

func TestQueries(t *testing.T) {
	x := NewIndex(photos(300), func(*catalogue.Photo) bool { return true })
	find := func(text string) int {
		t.Helper()
		q, err := Parse(text, func(word string) []string {
			if word == "animal" {
				return []string{"dog", "Dogs"}
			}
			return nil
		})
		if err != nil {
			t.Fatal(text, err)
		}
		return len(x.Find(q))
	}
	if all := find(""); all != 300 || find("dog or -dog") != all || find("dog -dog") != 0 {
		t.Errorf("the empty query found %d", all)
	}
	if find("animal") != find("dog or dogs") || find("animal") == 0 {
		t.Error("words of the vocabulary do not find those below them")
	}
	if find("a or b c") != find("a or (b c)") || find("dog or sea beach") != find("dog or (sea and beach)") {
		t.Error("and does not bind more strongly than or")
	}
	if find("2022") != find("2022-01-01..2022-12-31") || find("2022") == 0 {
		t.Error("a year is not its days")
	}
}

func TestBadQueriesNameTheirColumn(t *testing.T) {
	for text, want := range map[string]string{
		"dog )":                  "column 5: there is no ( before this )",
		"(dog":                   "column 1: this ( is not closed",
		`été "old`:               "column 5: this quotation mark is not closed",
		"dog or":                 "column 7: a word is missing",
		"dog and and sea":        `column 9: a word is missing before "and"`,
		"or dog":                 `column 1: a word is missing before "or"`,
		"-":                      "column 2: a word is missing",
		"2024-13":                "column 1: there is no date 2024-13",
		"2024..2023":             "column 1: the range 2024..2023 is empty",
		"size:3":                 "column 1: there is no field size",
		"folder:":                "column 1: folder: needs a value",
		"dog place:north":        "column 5: a place is",
		"place:48,11~far":        "column 1: a place is",
		"*":                      "column 1:",
		strings.Repeat("(", 200): "nested too deeply",
	} {
		_, err := Parse(text, nil)
		if exitcode.Of(err) != exitcode.Input || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`dog "old town" -(sea* or 2024..)`, "place:48,11~2 folder:a/b", `a"b c"d`, "not not x"} {
		f.Add(s)
	}
	x := NewIndex(photos(50), func(*catalogue.Photo) bool { return true })
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text, func(word string) []string { return []string{word + "s"} })
		if err == nil {
			x.Find(q)
		} else if exitcode.Of(err) != exitcode.Input {
			t.Fatal(err)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	x := NewIndex(photos(100_000), func(*catalogue.Photo) bool { return true })
	for _, text := range []string{"dog beach 2024 -party", "s*", `"old town" or (sea -dog 2022..2023-05)`, "name:img_12", "place:48.2,11.2~20", "folder:a camera:canon", "path:a/IMG_3.jpg"} {
		q, err := Parse(text, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				x.Find(q)
			}
		})
	}
}

func TestSplitSeparatesWordsFromTheRest(t *testing.T) {
	for text, want := range map[string][2]string{
		"":                             {"", ""},
		"dog":                          {"dog", ""},
		`Dog "old Town" beach*`:        {`dog "old town" beach`, ""},
		"dog 2024 camera:canon":        {"dog", "2024 camera:canon"},
		"dog -party":                   {"dog -party", "-party"},
		"beach or sea":                 {"beach sea", ""},
		"(beach or sea) 2023 or 2024":  {"beach sea", "2023 or 2024"},
		"beach (2023 or 2024)":         {"beach", "2023 or 2024"},
		"folder:a not (folder:b or c)": {"", "folder:a -(folder:b or c)"},
	} {
		q, err := Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := Parse(want[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		got, left := q.Split()
		if got != want[0] || !reflect.DeepEqual(flat(left.root), flat(rest.root)) {
			t.Errorf("%q: %s and %#v, want %s and %#v", text, got, left.root, want[0], rest.root)
		}
	}
}

// flat replaces groups of one node by the node.
func flat(n node) node {
	switch n := n.(type) {
	case allOf:
		if len(n.of) == 1 {
			return flat(n.of[0])
		}
		return fmt.Sprint("all of ", flatAll(n.of))
	case anyOf:
		return fmt.Sprint("any of ", flatAll(n.of))
	}
	return n
}

func flatAll(nodes []node) (out []node) {
	for _, n := range nodes {
		out = append(out, flat(n))
	}
	return out
}

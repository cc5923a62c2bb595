package demo

import (
	"fmt"
	"math"
	"slices"
	"time"

	"cpar/internal/humanfmt"
	"cpar/model/rank"
)

// A Tally counts keywords over all photos. True counts the keywords that people
// gave, Words the different ones found.
type Tally struct {
	Ranker string `json:"ranker"`
	Count
	True  int `json:"keywords_true"`
	Words int `json:"different_keywords_found"`

	words map[string]bool
}

func (t *Tally) add(s *Suggestion, truth []string) {
	if t.words == nil {
		t.words = map[string]bool{}
	}
	t.Count.add(s.Keywords)
	t.True += len(truth)
	for _, k := range s.Keywords {
		if k.Correct {
			t.words[k.Word] = true
		}
	}
	t.Words = len(t.words)
}

// A HeldOut is a photo outside the index with the suggestions of each profile.
type HeldOut struct {
	Name        string       `json:"name"`
	Truth       []string     `json:"truth"`
	Suggestions []Suggestion `json:"suggestions"`
}

// A Suggestion holds the keywords of one profile for a photo. Found counts the
// correct ones.
type Suggestion struct {
	Profile  string    `json:"profile"`
	Keywords []Keyword `json:"keywords"`
	Found    int       `json:"found"`
}

func newSuggestion(profile string, keywords []rank.Keyword, truth []string) *Suggestion {
	s := &Suggestion{Profile: profile, Keywords: marked(keywords, truth)}
	for _, k := range s.Keywords {
		if k.Correct {
			s.Found++
		}
	}
	return s
}

func (s Suggestion) Groups() []Group { return groups(s.Keywords) }

func median(all []time.Duration) float64 { return ms(humanfmt.Median(all)) }

// Share returns the percentage of people's keywords that was found.
func (p Tally) Share() float64 { return 100 * float64(p.Found) / float64(max(1, p.True)) }

// Finds returns the mean numbers of keywords found and given per photo.
func (p Profile) Finds() string {
	n := float64(max(1, p.Photos))
	return fmt.Sprintf("%.1f of %.1f", float64(p.Found)/n, float64(p.True)/n)
}

var profileHead = append([]string{"finds"}, append(slices.Clone(countHead), "different", "encrypted photo", "sent", "cloud and way", "at home")...)

// Cells returns the figures in the order of profileHead.
func (p Profile) Cells() []string {
	cells := append([]string{p.Finds()}, p.cells()...)
	return append(cells, count(p.Words), Bytes(float64(p.RecordBytes)), Bytes(float64(p.Sent)), Duration(p.CloudMS), Duration(p.DeviceMS))
}

func (p Profile) Line() string { return fmt.Sprintf("finds %s keywords; %s", p.Finds(), p.Text()) }

// Chance returns the difference in found keywords per photo that may arise by
// chance: twice the largest standard error of the photo-by-photo differences
// between two profiles. It is 0 for a single profile.
func (r *Result) Chance() float64 {
	n, worst := float64(len(r.HeldOut)), 0.0
	if n < 2 {
		return 0
	}
	for j := range r.Profiles {
		for i := range j {
			sum, squares := 0.0, 0.0
			for _, h := range r.HeldOut {
				d := float64(h.Suggestions[j].Found - h.Suggestions[i].Found)
				sum += d
				squares += d * d
			}
			worst = max(worst, (squares-sum*sum/n)/(n-1)/n)
		}
	}
	return 2 * math.Sqrt(worst)
}

// BasedOn describes the sample behind the figures.
func (r *Result) BasedOn() string {
	photos := fmt.Sprintf("Based on %s photos that are in none of the indexes, chosen by their place in the collection and not by how well it went.", count(len(r.HeldOut)))
	if len(r.Profiles) < 2 {
		return photos
	}
	if c := r.Chance(); c > 0 {
		photos += fmt.Sprintf(" Differences of less than about %.1f keywords may be chance.", math.Ceil(10*c)/10)
	}
	return photos + " A keyword counts as right if a person gave it: people leave out much that is true of a photo."
}

// Ranking describes the selection of the keywords shown.
func (r *Result) Ranking() string {
	text := "Keywords that are more likely right than wrong are sure; those of 25 to 50 percent are maybe; others are not shown."
	if slices.ContainsFunc(r.Profiles, func(p Profile) bool { return !p.Probable }) {
		text = fmt.Sprintf("Probabilities are learnt from %d photos on. Where there are none, keywords have weights, which are no probabilities: shown is what weighs at least half of what it could.", calibrateFrom)
		if slices.ContainsFunc(r.Profiles, func(p Profile) bool { return p.Probable }) {
			text += " The other profiles bring probabilities, here rough ones."
		}
	}
	return text
}

// Advice explains how to see the profiles that were not compared, or returns
// "".
func (r *Result) Advice() string {
	switch {
	case r.painted:
		return "This shows one profile, the paper's, to be short. Given photos with keywords it compares that with others, learnt from the keywords or by an image network: cpar demo --data FOLDER --model FILE.onnx"
	case !r.network:
		return "A third profile uses an image network: cpar demo --data FOLDER --model FILE.onnx"
	}
	return ""
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"cpar"
	"cpar/user"
	"cpar/user/rank"
)

// heldOut is how many photos that are not in the index are asked about with
// every profile, at most.
const heldOut = 80

// A Profile is one column of the comparison of profiles: what it found for all
// held-out photos, and what that cost. Every one has an index of scheme cpar of
// its own, searched and ranked as such an index is by default.
type Profile struct {
	Profile string `json:"profile"`
	// Name says in plain words what the profile looks at.
	Name   string `json:"name"`
	Search string `json:"search"`
	Photos int    `json:"photos"`
	Tally
	// RecordBytes is the encrypted vector and keywords of an indexed photo.
	// Sent and Received are of one photo that is asked about.
	RecordBytes uint64 `json:"bytes_of_encrypted_photo"`
	Sent        int    `json:"bytes_sent"`
	Received    int    `json:"bytes_received"`
	// HomeMS is features, request, decryption and ranking, CloudMS the HTTP
	// round trip; medians, of one photo.
	HomeMS  float64 `json:"home_ms"`
	CloudMS float64 `json:"cloud_ms"`

	home, cloud []time.Duration // of every photo
}

// A Tally counts keywords over all photos: Found of the True ones that people gave
// are among the Given that a profile gave. Words are the different ones found.
type Tally struct {
	Ranker string `json:"ranker"`
	Found  int    `json:"keywords_found"`
	True   int    `json:"keywords_true"`
	Given  int    `json:"keywords_given"`
	Words  int    `json:"different_keywords_found"`

	words map[string]bool
}

func (t *Tally) add(s *Suggestion, truth []string) {
	if t.words == nil {
		t.words = map[string]bool{}
	}
	t.Found += s.Found
	t.True += len(truth)
	t.Given += len(s.Keywords)
	for _, k := range s.Keywords {
		if k.Correct {
			t.words[k.Word] = true
		}
	}
	t.Words = len(t.words)
}

// A HeldOut is a photo that is not in the index, with what each profile says.
type HeldOut struct {
	Name        string       `json:"name"`
	Truth       []string     `json:"truth"`
	Suggestions []Suggestion `json:"suggestions"`
}

// A Suggestion is what one profile says of a photo. Found of the keywords that
// people gave are among these.
type Suggestion struct {
	Profile  string      `json:"profile"`
	Keywords []Suggested `json:"keywords"`
	Found    int         `json:"found"`
}

// A Suggested is one keyword, and whether a person gave it too.
type Suggested struct {
	rank.Scored
	Correct bool `json:"correct"`
}

// A LeftOut is a profile that could not learn from the collection, and why.
type LeftOut struct {
	Profile string `json:"profile"`
	Reason  string `json:"reason"`
}

// names of the profiles for people who know nothing of them.
var names = map[user.ProfileKind]string{
	user.ProfilePaper:   "colours and textures (the paper)",
	user.ProfileLearned: "learnt from your keywords",
	user.ProfileNetwork: "with an image network",
}

// A profiled is an index of scheme cpar of one profile.
type profiled struct {
	*indexed
	kind   user.ProfileKind
	folder string
}

// compared are the profiles beside `paper` that the collection is indexed with.
// Painted pictures get none: learning takes long, and eight ask too little.
func (o *Options) compared() []user.ProfileKind {
	switch {
	case o.Data == "":
		return nil
	case o.Network == nil:
		return []user.ProfileKind{user.ProfileLearned}
	}
	return []user.ProfileKind{user.ProfileLearned, user.ProfileNetwork}
}

// buildProfiles makes an index of every profile. That of `paper` is the one of
// the schemes.
func (s *session) buildProfiles(ctx context.Context) error {
	s.profiles = []profiled{{s.indexes[cpar.SchemeCPAR], user.ProfilePaper, folders[cpar.SchemeCPAR]}}
	for _, kind := range s.compared() {
		x := profiled{&indexed{}, kind, kind.String()}
		var left error
		_, err := s.step(func() string {
			if left != nil {
				return fmt.Sprintf("profile %v cannot learn from these keywords: left out", kind)
			}
			return fmt.Sprintf("learn from %d keywords, encrypt %d records, profile %v", s.result.Words, x.manifest.Records, kind)
		}, func() (err error) {
			// s.Progress, not s.tell: the costs are those of profile paper.
			x.builder, err = user.Setup(ctx, s.key, s.images(), user.Options{Trees: trees, Profile: kind, Progress: s.Progress})
			if errors.Is(err, cpar.ErrInput) {
				left = err
				return nil
			}
			if err != nil {
				return err
			}
			x.manifest, err = x.builder.Encrypt(ctx, s.path(x.folder))
			return err
		})
		switch {
		case err != nil:
			return err
		case left != nil:
			s.result.LeftOut = append(s.result.LeftOut, LeftOut{kind.String(), left.Error()})
		default:
			s.profiles = append(s.profiles, x)
		}
	}
	return nil
}

// compareProfiles asks about every held-out photo with every profile.
func (s *session) compareProfiles(ctx context.Context) error {
	r := &s.result
	for _, x := range s.profiles {
		if err := x.owner.Use(s.Network); err != nil {
			return err
		}
		r.Profiles = append(r.Profiles, x.describe())
	}
	_, err := s.step(func() string {
		if len(s.profiles) == 1 {
			return fmt.Sprintf("find keywords for %d pictures that are not in the index", len(s.held))
		}
		return fmt.Sprintf("find keywords for %d held-out pictures, %d profiles each", len(s.held), len(s.profiles))
	}, func() error {
		for i, it := range s.held {
			photo, err := os.ReadFile(it.Path)
			if err != nil {
				return fmt.Errorf("comparing profiles: %w: %w", cpar.ErrInput, err)
			}
			h := HeldOut{Name: it.Name, Truth: it.Keywords}
			for j, x := range s.profiles {
				said, err := s.suggest(ctx, x, &r.Profiles[j], photo, it.Keywords)
				if err != nil {
					return fmt.Errorf("comparing profiles: %s with %v: %w", it.Name, x.kind, err)
				}
				h.Suggestions = append(h.Suggestions, *said)
			}
			r.HeldOut = append(r.HeldOut, h)
			s.tell("compare", i+1, len(s.held))
		}
		return nil
	})
	for i := range r.Profiles {
		p := &r.Profiles[i]
		p.HomeMS, p.CloudMS = median(p.home), median(p.cloud)
	}
	return err
}

func (x *profiled) describe() Profile {
	p := Profile{
		Profile: x.kind.String(), Name: names[x.kind], Search: x.owner.DefaultParams().Search.String(),
		Tally: Tally{Ranker: x.owner.Ranker().String()},
	}
	for _, segment := range x.manifest.Segments {
		if segment.Kind == cpar.SegmentVectors || segment.Kind == cpar.SegmentKeywords {
			p.RecordBytes += segment.Bytes
		}
	}
	p.RecordBytes /= uint64(x.manifest.Records)
	return p
}

// suggest asks about one photo, and adds it to what its profile has found.
func (s *session) suggest(ctx context.Context, x profiled, sum *Profile, photo []byte, truth []string) (*Suggestion, error) {
	start := time.Now()
	features, err := x.owner.Features(photo)
	if err != nil {
		return nil, err
	}
	pending, request, err := x.owner.Request(features, x.owner.DefaultParams())
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	reply, stats, err := s.client.Annotate(ctx, request)
	if err != nil {
		return nil, err
	}
	answered := time.Now()
	keywords, err := pending.Keywords(reply, s.Keywords)
	if err != nil {
		return nil, err
	}
	sum.home = append(sum.home, asked.Sub(start)+time.Since(answered))
	sum.cloud = append(sum.cloud, answered.Sub(asked))
	sent, err := request.MarshalBinary()
	if err != nil {
		return nil, err
	}
	s.sent = append(s.sent, sent)
	said := newSuggestion(x.kind.String(), keywords, truth)
	sum.Photos++
	sum.add(said, truth)
	sum.Sent, sum.Received = stats.Sent, stats.Received
	return said, nil
}

func newSuggestion(profile string, keywords []rank.Scored, truth []string) *Suggestion {
	s := &Suggestion{Profile: profile, Keywords: []Suggested{}}
	for _, k := range keywords {
		right := slices.Contains(truth, k.Word)
		s.Keywords = append(s.Keywords, Suggested{k, right})
		if right {
			s.Found++
		}
	}
	return s
}

// median is of a copy, in ms; 0 of nothing.
func median(all []time.Duration) float64 {
	if len(all) == 0 {
		return 0
	}
	return ms(slices.Sorted(slices.Values(all))[len(all)/2])
}

// Right is the share of the keywords given that people gave too, in percent.
func (p Tally) Right() float64 { return 100 * float64(p.Found) / float64(max(1, p.Given)) }

// Share of the keywords that people gave is found, in percent.
func (p Tally) Share() float64 { return 100 * float64(p.Found) / float64(max(1, p.True)) }

// Finds says how many keywords of a photo are found, of how many; means.
func (p Profile) Finds() string {
	n := float64(max(1, p.Photos))
	return fmt.Sprintf("%.1f of %.1f", float64(p.Found)/n, float64(p.True)/n)
}

var profileHead = []string{"finds", "right", "different", "encrypted photo", "sent", "cloud and way", "at home"}

// Cells are the figures of a profile, in the order of profileHead.
func (p Profile) Cells() []string {
	return []string{
		p.Finds(), fmt.Sprintf("%.0f %%", p.Right()), count(p.Words), Bytes(float64(p.RecordBytes)), Bytes(float64(p.Sent)),
		Duration(p.CloudMS), Duration(p.HomeMS),
	}
}

// Line sums a profile up.
func (p Profile) Line() string {
	return fmt.Sprintf("finds %s keywords; %.0f %% of its suggestions are right", p.Finds(), p.Right())
}

// Chance is what two profiles may differ by in found keywords per photo without
// meaning anything: twice the greatest standard error of their differences, photo
// by photo. It is 0 where there is nothing to compare.
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

// BasedOn says what the figures rest on.
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

// Ranking says how keywords were ranked.
func (r *Result) Ranking() string {
	text := fmt.Sprintf("Keywords are ranked as an index does by default: by the paper's weights of %d neighbours for colours and textures", neighbours)
	if len(r.Profiles) > 1 {
		text += ", by the probability that they fit for the others"
	}
	return text + ". \"Different\" counts the different keywords found."
}

// Advice says how to see the profiles that were not compared; "" if all were.
func (r *Result) Advice() string {
	switch {
	case r.painted:
		return "This shows one profile, the paper's, to be short. Given photos with keywords it compares that with others, learnt from the keywords or by an image network: cpar demo --data FOLDER --model FILE.onnx"
	case !r.network:
		return "A third profile uses an image network: cpar demo --data FOLDER --model FILE.onnx"
	}
	return ""
}

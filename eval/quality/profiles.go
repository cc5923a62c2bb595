package quality

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
)

// Profiles compares the profiles of an index: their quality in plaintext and
// encrypted, by both rankers, and their cost.
//
//	collection ─▶ profile fitted once ─▶ plain · capia · cpar · sealed ─▶ P, R, N+ (real images)
//	              └▶ n images, the same profile ─▶ bytes, milliseconds
type Profiles struct {
	// Quality is measured on Records records and Requests requests.
	Records  int `json:"n"`
	Requests int `json:"requests"`
	// CostRecords is the size of the indexes for bytes and times, CostKind the
	// origin of their images.
	CostRecords int          `json:"cost_records"`
	CostKind    string       `json:"cost_images"`
	Rows        []ProfileRow `json:"rows"`
	// CapiaRatio is the server's time for capia with profile learned divided by
	// the time with profile paper, in one run, or 0 if either is missing.
	CapiaRatio float64         `json:"capia_ratio"`
	Details    []ProfileDetail `json:"profiles"`
	Losses     []ProfileLoss   `json:"losses"`
	Costs      []ProfileCost   `json:"costs"`
	Samples    []ProfileSample `json:"samples"`
	// Skipped are profiles that could not be measured, with reasons.
	Skipped []SkippedProfile `json:"skipped"`
	// Network identifies the image network, Runtime its runtime.
	Network string `json:"network,omitempty"`
	Runtime string `json:"runtime,omitempty"`
}

// A ProfileRow is one profile, ranker and scheme, with five keywords per photo
// in the order of cpar annotate. Scheme plain has no index, so its bytes and
// times are 0.
type ProfileRow struct {
	Profile string `json:"profile"`
	Ranker  string `json:"ranker"`
	// Scheme is plain, capia, cpar@10 (Algorithm 1), cpar-rank@10 (the forest by rank),
	// ivf@100, ivf@10 or sealed.
	Scheme     string  `json:"scheme"`
	Neighbours int     `json:"neighbours"` // number ranked
	Dim        int     `json:"dim"`        // of a plain vector, or of a record
	P          float64 `json:"P"`
	R          float64 `json:"R"`
	Nplus      int     `json:"Nplus"`
	IndexBytes uint64  `json:"index_bytes"`
	Cloud      float64 `json:"cloud_ms"` // one core
	Owner      float64 `json:"owner_ms"` // per photo, from its bytes to its keywords, one core
}

// A ProfileDetail holds the other properties of one profile.
type ProfileDetail struct {
	Profile string  `json:"profile"`
	Fit     float64 `json:"fit_s"` // setting up an index, all cores: mostly fitting
	// CapiaRatio is the server's time for capia divided by the time with
	// profile paper.
	CapiaRatio float64 `json:"capia_ratio"`
	// Recall is the share of capia's ten nearest that AP-10 finds, by search.
	Recall map[string]float64 `json:"recall_at_10"`
	// OfPlain is the share of the ten nearest by exact distances that a scheme
	// finds.
	OfPlain map[string]float64 `json:"of_plain_top10"`
	// ECE is the expected calibration error over all keywords of all neighbours
	// in scheme capia, ECEKept the error over the five keywords returned.
	ECE     float64    `json:"ece"`
	ECEKept float64    `json:"ece_kept"`
	Bins    []rank.Bin `json:"reliability"` // behind ECE
	// Validation is the result of cross-validation on the training images.
	Validation *rank.Validation `json:"cross_validation,omitempty"`
	// Found counts the human keywords found per photo in scheme capia with five
	// keywords.
	Found FoundKeywords `json:"found_per_photo"`
}

// FoundKeywords are means over photos: the number of human keywords, and how
// many of them W_t and the calibrated ranker find.
type FoundKeywords struct {
	Human    float64 `json:"human"`
	Paper    float64 `json:"paper"`
	Probable float64 `json:"probable"`
}

// A ProfileLoss is the loss of quality by encryption for one ranker: plain
// minus the scheme.
type ProfileLoss struct {
	Profile string  `json:"profile"`
	Ranker  string  `json:"ranker"`
	Scheme  string  `json:"scheme"`
	P       float64 `json:"P_points"`
	R       float64 `json:"R_points"`
	Nplus   int     `json:"Nplus"`
	// Percentages of plain. Negative values are gains.
	RelativeP     float64 `json:"P_percent"`
	RelativeR     float64 `json:"R_percent"`
	RelativeNplus float64 `json:"Nplus_percent"`
}

// A ProfileSample is a test image with the keywords of each profile, in scheme
// capia and by the calibrated ranker.
type ProfileSample struct {
	Name  string             `json:"name"`
	Human []string           `json:"human"`
	Words []ProfileAnnotated `json:"words"`
}

type ProfileAnnotated struct {
	Profile  string          `json:"profile"`
	Keywords []SampleKeyword `json:"words"`
}

// A SkippedProfile could not be measured.
type SkippedProfile struct {
	Profile string `json:"profile"`
	Reason  string `json:"reason"`
}

const (
	// paperNeighbours is k for the paper's ranker.
	paperNeighbours = 10
	reliabilityBins = 10
)

// profileSchemes are the encrypted schemes of the rows, in order.
var profileSchemes = []string{"capia", "cpar@10", "cpar-rank@10", "ivf@100", "ivf@10", "sealed"}

// MeasureProfiles measures all profiles that the lab supports. Costs are for
// indexes of n images, or of all images if there are more.
func MeasureProfiles(ctx context.Context, l *measure.Lab, n int) (*Profiles, error) {
	c, err := l.Corpus(ctx)
	if err != nil {
		return nil, err
	}
	network, err := l.Network()
	if err != nil {
		return nil, err
	}
	n = max(n, len(c.Train))
	out := &Profiles{Records: len(c.Train), Requests: len(c.Test), CostRecords: n, CostKind: c.Kind(n), Skipped: []SkippedProfile{}}
	if network != nil {
		digest := network.Digest()
		out.Network, out.Runtime = hex.EncodeToString(digest[:]), network.Runtime()
	}
	var runs []*profileRun
	for _, kind := range []profile.Kind{profile.Paper, profile.Learned, profile.Network} {
		if kind == profile.Network && c.Train[0].Vectors.Embedding == nil {
			out.Skipped = append(out.Skipped, SkippedProfile{kind.String(), "no image network was named (--model FILE)"})
			continue
		}
		run, err := runProfile(ctx, c, kind, l.Progress)
		if err != nil {
			return nil, fmt.Errorf("profile %v: %w", kind, err)
		}
		if err := out.quality(run); err != nil {
			return nil, fmt.Errorf("profile %v: %w", kind, err)
		}
		runs = append(runs, run)
	}
	if out.Samples, err = profileSamples(c, runs); err != nil {
		return nil, err
	}
	large, err := l.Collection(ctx, n)
	if err != nil {
		return nil, err
	}
	if out.Costs, err = measureProfileCosts(ctx, large, runs, network, l.Progress); err != nil {
		return nil, fmt.Errorf("measuring costs: %w", err)
	}
	out.withCosts()
	return out, nil
}

// quality adds the rows of a profile, their losses and its details.
func (out *Profiles) quality(r *profileRun) error {
	for _, ranker := range r.rankers() {
		var plain ProfileRow
		for _, scheme := range append([]string{"plain"}, profileSchemes...) {
			words, err := r.annotate(scheme, ranker.kind, ranker.neighbours, user.Ranking{MaxKeywords: measure.StandardKeywords})
			if err != nil {
				return fmt.Errorf("scheme %s: %w", scheme, err)
			}
			q := measure.MeasureQuality(measure.KeywordsOf(words), r.truth)
			row := ProfileRow{Profile: r.name(), Ranker: ranker.kind.String(), Scheme: scheme, Neighbours: ranker.neighbours, Dim: r.dims[scheme],
				P: q.P, R: q.R, Nplus: q.Nplus}
			out.Rows = append(out.Rows, row)
			if scheme == "plain" {
				plain = row
				continue
			}
			out.Losses = append(out.Losses, lossOf(plain, row))
		}
	}
	d, err := r.detail()
	out.Details = append(out.Details, d)
	return err
}

// lossOf compares a row with the one in the clear.
func lossOf(plain, row ProfileRow) ProfileLoss {
	relative := func(a, b float64) float64 {
		if a == 0 {
			return 0
		}
		return measure.RoundTo(100*(a-b)/a, 2)
	}
	return ProfileLoss{Profile: row.Profile, Ranker: row.Ranker, Scheme: row.Scheme,
		P: measure.RoundTo(plain.P-row.P, 2), R: measure.RoundTo(plain.R-row.R, 2), Nplus: plain.Nplus - row.Nplus,
		RelativeP: relative(plain.P, row.P), RelativeR: relative(plain.R, row.R),
		RelativeNplus: relative(float64(plain.Nplus), float64(row.Nplus))}
}

// withCosts fills in the rows' costs and computes their ratios.
func (out *Profiles) withCosts() {
	capia := map[string]float64{}
	for _, cost := range out.Costs {
		if cost.Scheme == "capia" {
			capia[cost.Profile] = cost.Cloud
		}
		for i := range out.Rows {
			if row := &out.Rows[i]; row.Profile == cost.Profile && row.Scheme == cost.Scheme {
				row.IndexBytes, row.Cloud, row.Owner = cost.IndexBytes, cost.Cloud, cost.owner()
			}
		}
	}
	paper := capia[profile.Paper.String()]
	if paper == 0 {
		return
	}
	out.CapiaRatio = measure.RoundTo(capia[profile.Learned.String()]/paper, 4)
	for i := range out.Details {
		out.Details[i].CapiaRatio = measure.RoundTo(capia[out.Details[i].Profile]/paper, 4)
	}
}

// profileSamples returns the keywords of evenly spaced test images, like
// MeasureSamples.
func profileSamples(c *measure.Corpus, runs []*profileRun) ([]ProfileSample, error) {
	n := min(sampleCount, len(c.Test))
	out := make([]ProfileSample, n)
	said := make([][][]rank.Keyword, len(runs))
	for j, r := range runs {
		var err error
		if said[j], err = r.annotate("capia", rank.KindCalibrated, r.owner.Ranker().Neighbours(), user.Ranking{MaxKeywords: measure.StandardKeywords}); err != nil {
			return nil, err
		}
	}
	for k := range out {
		i := measure.SampleAt(k, n, len(c.Test))
		out[k] = ProfileSample{Name: c.TestName(i), Human: c.Test[i].Keywords}
		for j, r := range runs {
			words := ProfileAnnotated{Profile: r.name()}
			for _, w := range said[j][i] {
				words.Keywords = append(words.Keywords, SampleKeyword{w.Word, slices.Contains(c.Test[i].Keywords, w.Word)})
			}
			out[k].Words = append(out[k].Words, words)
		}
	}
	return out, nil
}

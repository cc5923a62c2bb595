package quality

import (
	"context"
	"encoding/hex"
	"fmt"

	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/model/rank"
)

// Profiles compares profiles: their quality in plaintext and encrypted, with
// both rankers, and their cost.
//
//	collection ─▶ profile fitted once ─▶ plain · capia · cpar · sealed ─▶ P, R, N+ (real images)
//	              └▶ n images, the same profile ─▶ bytes, milliseconds
type Profiles struct {
	Records  int `json:"n"`
	Requests int `json:"requests"`
	// CostRecords is the size of the indexes for bytes and times, and CostKind
	// the origin of their images.
	CostRecords int          `json:"cost_records"`
	CostKind    string       `json:"cost_images"`
	Rows        []ProfileRow `json:"rows"`
	// CapiaRatio is the server's time for capia with profile learned divided by
	// the time with profile paper, in one run, or 0 if either is missing.
	CapiaRatio float64         `json:"capia_ratio"`
	Details    []ProfileDetail `json:"profiles"`
	Costs      []ProfileCost   `json:"costs"`
	// Skipped lists profiles that could not be measured, with reasons.
	Skipped []SkippedProfile `json:"skipped"`
	// Network identifies the image network, and Runtime its runtime.
	Network string `json:"network,omitempty"`
	Runtime string `json:"runtime,omitempty"`
}

// A ProfileRow is one profile, ranker and scheme, with five keywords per photo,
// ranked as by cpar annotate. Scheme plain has no index, so its bytes and times
// are 0.
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

type ProfileDetail struct {
	Profile string `json:"profile"`
	// Recall is the share of the ten nearest of capia (a scan) that AP-10
	// finds, by search.
	Recall map[string]float64 `json:"recall_at_10"`
	// OfPlain is the share of the ten nearest by exact distances that a scheme
	// finds.
	OfPlain map[string]float64 `json:"of_plain_top10"`
	// ECE is the expected calibration error over all keywords of all neighbours
	// in scheme capia, and ECEKept the error over the five returned.
	ECE     float64 `json:"ece"`
	ECEKept float64 `json:"ece_kept"`
	// Found is for scheme capia with five keywords.
	Found FoundKeywords `json:"found_per_photo"`
}

// FoundKeywords are means over photos: the numbers of human keywords, and of
// those found by the paper's ranker (W_t) and by the calibrated ranker.
type FoundKeywords struct {
	Human    float64 `json:"human"`
	Paper    float64 `json:"paper"`
	Probable float64 `json:"probable"`
}

type SkippedProfile struct {
	Profile string `json:"profile"`
	Reason  string `json:"reason"`
}

const (
	// paperNeighbours is the paper's k.
	paperNeighbours = 10
	reliabilityBins = 10
)

// profileSchemes are the encrypted schemes of the rows, in order.
var profileSchemes = []string{"capia", "cpar@10", "cpar-rank@10", "ivf@100", "ivf@10", "sealed"}

// MeasureProfiles measures all profiles that the lab supports. Costs are for n
// images, or for all images if there are more.
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

func (out *Profiles) quality(r *profileRun) error {
	rows, err := r.drawRows(append([]string{"plain"}, profileSchemes...))
	if err != nil {
		return err
	}
	d, err := r.detail()
	for _, x := range rows {
		out.Rows = append(out.Rows, ProfileRow{Profile: x.Profile, Ranker: x.Ranker, Scheme: x.Scheme, Neighbours: x.Neighbours, Dim: r.dims[x.Scheme], P: x.P, R: x.R, Nplus: x.Nplus})
		switch {
		case x.Scheme != "capia":
		case x.Ranker == rank.KindPaper.String():
			d.Found.Paper = x.Found
		default:
			d.Found.Probable = x.Found
		}
	}
	out.Details = append(out.Details, d)
	return err
}

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
	if paper := capia[profile.Paper.String()]; paper > 0 {
		out.CapiaRatio = measure.RoundTo(capia[profile.Learned.String()]/paper, 4)
	}
}

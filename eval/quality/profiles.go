package quality

import (
	"context"
	"encoding/hex"
	"fmt"

	"cpar/eval/measure"
	"cpar/model/profile"
	"cpar/model/rank"
)

// Profiles compares profiles by quality and cost. Quality is measured in
// plaintext and encrypted, with both rankers.
//
//	collection ─▶ profile fitted once ─▶ plain · capia · cpar · sealed ─▶ P, R, N+ (real images)
//	              └▶ n images, the same profile ─▶ bytes, milliseconds
type Profiles struct {
	Records  int `json:"n"`
	Requests int `json:"requests"`
	// CostRecords is the number of records with which bytes and times are
	// measured.
	CostRecords int `json:"cost_records"`
	// CostKind is the origin of these records (see measure.Corpus.Kind).
	CostKind string       `json:"cost_images"`
	Rows     []ProfileRow `json:"rows"`
	// CapiaRatio is the server's time for scheme capia with profile "learned",
	// divided by its time with profile "paper". It is 0 if either was not
	// measured.
	CapiaRatio float64         `json:"capia_ratio"`
	Details    []ProfileDetail `json:"profiles"`
	Costs      []ProfileCost   `json:"costs"`
	// Skipped lists profiles that could not be measured, with reasons.
	Skipped []SkippedProfile `json:"skipped"`
	// Network is the digest of the image network, and Runtime names the
	// software that ran it.
	Network string `json:"network,omitempty"`
	Runtime string `json:"runtime,omitempty"`
}

// A ProfileRow is the result of one profile, ranker and scheme, with five
// keywords per photo, ranked as by cpar annotate. Bytes and times are 0 for
// scheme plain, because it has no index.
type ProfileRow struct {
	Profile string `json:"profile"`
	Ranker  string `json:"ranker"`
	// Scheme is plain, sealed or one of the following. capia is a scan. cpar@10
	// is Algorithm 1 at AP-10 (which visits 10 percent of the records), and
	// cpar-rank@10 a search of the forest by rank. ivf@100 and ivf@10 search an
	// inverted file.
	Scheme     string `json:"scheme"`
	Neighbours int    `json:"neighbours"` // number of neighbours ranked
	Dim        int    `json:"dim"`        // elements of a plaintext vector or encrypted record
	// P and R are precision and recall in percent, as means over keywords.
	P float64 `json:"P"`
	R float64 `json:"R"`
	// Nplus is the number of keywords found at least once.
	Nplus      int     `json:"Nplus"`
	IndexBytes uint64  `json:"index_bytes"`
	Cloud      float64 `json:"cloud_ms"` // time per request on one core
	Owner      float64 `json:"owner_ms"` // time per photo on one core, from reading its file to keywords
}

type ProfileDetail struct {
	Profile string `json:"profile"`
	// Recall maps each search to its recall at AP-10: the share found of the
	// ten nearest records of capia (a scan).
	Recall map[string]float64 `json:"recall_at_10"`
	// OfPlain maps each scheme to the share that it finds of the ten nearest
	// records by exact distance.
	OfPlain map[string]float64 `json:"of_plain_top10"`
	// ECE is the expected calibration error (the mean gap between stated
	// probability and share of right keywords), over all keywords of all
	// neighbours in scheme capia.
	ECE float64 `json:"ece"`
	// ECEKept is the same error over the five keywords that annotation keeps.
	ECEKept float64 `json:"ece_kept"`
	// Found is measured in scheme capia with five keywords per photo.
	Found FoundKeywords `json:"found_per_photo"`
}

// FoundKeywords holds mean numbers of keywords per photo.
type FoundKeywords struct {
	// Human is the number of keywords that people gave the photo.
	Human float64 `json:"human"`
	// Paper is the number of human keywords that the paper's ranker (W_t)
	// finds.
	Paper float64 `json:"paper"`
	// Probable is the number of human keywords that the calibrated ranker
	// finds.
	Probable float64 `json:"probable"`
}

type SkippedProfile struct {
	Profile string `json:"profile"`
	Reason  string `json:"reason"`
}

const (
	// paperNeighbours is k, the paper's number of neighbours.
	paperNeighbours = 10
	reliabilityBins = 10
)

var profileSchemes = []string{"capia", "cpar@10", "cpar-rank@10", "ivf@100", "ivf@10", "sealed"}

// MeasureProfiles measures all profiles that the lab supports. It measures
// costs on n images, or on the whole collection if it has more images.
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

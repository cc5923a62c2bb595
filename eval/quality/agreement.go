package quality

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/eval/measure"
	"cpar/user"
)

// Agreement compares the encrypted search with its plaintext twin, and measures
// the recall of each encrypted search. AP-X visits X percent of the records.
type Agreement struct {
	Records  int `json:"records"`
	Requests int `json:"requests"`
	// RankAgreement is the share of ranks 1 to 10 at which the encrypted and
	// the plaintext search return the same record, by scheme.
	RankAgreement map[string]float64 `json:"place_agreement"`
	// VisitOrderEqual is the share of requests for which both searches of the
	// forest visit the same records in the same order.
	VisitOrderEqual float64 `json:"visit_order_equal"`
	// ListOrderEqual is the share of requests for which both searches of the
	// inverted file visit the same records in the same order. The order of its
	// lists depends on noisy scores.
	ListOrderEqual float64 `json:"list_order_equal"`
	// FullEqualsScan is the share of requests for which AP-100 returns the same
	// records and scores as the scan.
	FullEqualsScan float64 `json:"ap100_equals_scan"`
	// Recall maps X of AP-X to the recall of the encrypted Algorithm 1 (depth
	// first): the share found of the encrypted scan's ten nearest records. The
	// next three fields hold other searches' recall.
	Recall        map[string]float64 `json:"recall_at_10"`
	RecallByRank  map[string]float64 `json:"recall_at_10_by_rank"`
	RecallBestBin map[string]float64 `json:"recall_at_10_best_bin"`
	RecallIVF     map[string]float64 `json:"recall_at_10_ivf"`
	// Default is the search that scheme cpar uses by default.
	Default string `json:"default_search"`
}

func (a *Agreement) recalls(how cpar.Search) map[string]float64 {
	switch how {
	case cpar.SearchByRank:
		return a.RecallByRank
	case cpar.SearchBestBin:
		return a.RecallBestBin
	case cpar.SearchIVF:
		return a.RecallIVF
	}
	return a.Recall
}

// recallApprox lists the X of AP-X in Agreement.Recall, in tenths of a percent.
var recallApprox = []uint16{25, 50, 100, 200, 400}

// MeasureAgreement answers every test request in scheme capia (a scan), and in
// schemes cpar and ivf at several AP-X, encrypted and in plaintext.
func MeasureAgreement(ctx context.Context, s *measure.Session, _ *measure.Corpus, progress user.Progress) (*Agreement, error) {
	n := len(s.Requests)
	a := &Agreement{Records: int(s.Cloud.Manifest.Records), Requests: n,
		RankAgreement: map[string]float64{}, Recall: map[string]float64{}, RecallByRank: map[string]float64{},
		RecallBestBin: map[string]float64{}, RecallIVF: map[string]float64{}, Default: s.Builder.DefaultParams().Search.String()}
	scan, err := s.RunAll(ctx, cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}, progress, "capia")
	if err != nil {
		return nil, err
	}
	a.RankAgreement["capia"] = measure.RoundTo(scan.RankAgreement(), 4)
	samePaths, paths, sameLists, lists, sameFull, full := 0, 0, 0, 0, 0, 0
	for _, how := range measure.Searches {
		for _, approx := range append([]uint16{1000}, recallApprox...) {
			name, p := measure.ApproxName(approx), measure.SearchParams(how, approx, 10)
			run, err := s.RunAll(ctx, p, progress, measure.ConfigurationName(p))
			if err != nil {
				return nil, err
			}
			for _, o := range run {
				same, all := &samePaths, &paths
				if how == cpar.SearchIVF {
					same, all = &sameLists, &lists
				}
				*all++
				if len(o.PlainPath) > 0 && slices.Equal(o.EncryptedPath, o.PlainPath) {
					*same++
				}
				if approx == 1000 {
					full++
				}
				if o.SameAsScan {
					sameFull++
				}
			}
			if approx != 1000 {
				a.recalls(how)[name] = measure.RoundTo(run.RecallOf(scan), 4)
			}
			if how == cpar.SearchDepthFirst && (approx == 1000 || approx == 100) {
				a.RankAgreement[measure.ConfigurationName(p)] = measure.RoundTo(run.RankAgreement(), 4)
			}
		}
	}
	a.VisitOrderEqual = float64(samePaths) / float64(paths)
	a.ListOrderEqual = measure.RoundTo(float64(sameLists)/float64(lists), 4)
	a.FullEqualsScan = float64(sameFull) / float64(full)
	return a, nil
}

func (a *Agreement) Tables() []measure.Table {
	t := measure.Table{Name: "agreement", Title: fmt.Sprintf("The encrypted search beside its plaintext twin, n = %d, %d requests", a.Records, a.Requests),
		Columns: []string{"what", "search", "AP", "share"}}
	for _, scheme := range []string{"capia", "cpar@100", "cpar@10"} {
		t.Rows = append(t.Rows, []string{"places 1 to 10 alike", scheme, "", measure.FormatDecimal(a.RankAgreement[scheme], 4)})
	}
	t.Rows = append(t.Rows, []string{"visits in the same order", "forest", "", measure.FormatDecimal(a.VisitOrderEqual, 4)},
		[]string{"lists in the same order", "ivf", "", measure.FormatDecimal(a.ListOrderEqual, 4)},
		[]string{"AP-100 equals the scan", "all", "100", measure.FormatDecimal(a.FullEqualsScan, 4)})
	for _, how := range measure.Searches {
		for _, approx := range recallApprox {
			ap := measure.ApproxName(approx)
			t.Rows = append(t.Rows, []string{"of the ten nearest found", how.String(), ap, measure.FormatDecimal(a.recalls(how)[ap], 4)})
		}
	}
	return []measure.Table{t}
}

package eval

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/cloud/search"
	"cpar/kdforest"
	"cpar/model/rank"
	"cpar/user"
)

// Agreement says how faithfully the encrypted search follows its plaintext twin, and how
// many of the true neighbours each search finds.
type Agreement struct {
	Records  int `json:"records"`
	Requests int `json:"requests"`
	// PlaceAgreement is the share of the ranks 1 to 10 with the same record encrypted and
	// in the clear, by scheme.
	RankAgreement map[string]float64 `json:"place_agreement"`
	// VisitOrderEqual is the share of requests whose forest visits are the same records
	// in the same order, encrypted and in the clear. ListOrderEqual is the same for the
	// inverted file, whose lists are ordered by noisy scores.
	VisitOrderEqual float64 `json:"visit_order_equal"`
	ListOrderEqual  float64 `json:"list_order_equal"`
	// FullEqualsScan is the share of requests for which AP-100 returns the same as the
	// scan, including scores.
	FullEqualsScan float64 `json:"ap100_equals_scan"`
	// Recall is the share of the scan's ten nearest that Algorithm 1 finds, by AP, both
	// encrypted. The others are the same for cpar.SearchByRank, SearchBestBin and
	// SearchIVF.
	Recall        map[string]float64 `json:"recall_at_10"`
	RecallByRank  map[string]float64 `json:"recall_at_10_by_rank"`
	RecallBestBin map[string]float64 `json:"recall_at_10_best_bin"`
	RecallIVF     map[string]float64 `json:"recall_at_10_ivf"`
	// Default is the index's default search.
	Default string `json:"default_search"`
}

// recalls returns the field for the recall of a search.
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

// recallPowers are the AP-X of Agreement.Recall, in tenths of a percent.
var recallApprox = []uint16{25, 50, 100, 200, 400}

// outcome is one request answered encrypted and in the clear.
type outcome struct {
	encrypted, plain         []uint32
	encryptedPath, plainPath []uint32
	reply                    *cpar.Reply
	near                     []rank.Neighbour
	// sameAsScan is set at AP-100 if scanning the same ciphertext gives the same reply.
	sameAsScan bool
}

// answerBoth answers test request i encrypted and in the clear.
func (s *Session) answerAndCompare(i int, p cpar.Params) (*outcome, error) {
	pending, q, err := s.Builder.RequestVector(s.Requests[i], p)
	if err != nil {
		return nil, fmt.Errorf("request %d: %w", i, err)
	}
	o := new(outcome)
	o.reply, err = search.AnnotateTraced(s.Cloud, q, func(v kdforest.Visit) { o.encryptedPath = append(o.encryptedPath, v.Record) })
	if err != nil {
		return nil, fmt.Errorf("request %d: %w", i, err)
	}
	hits, err := s.Twin.Search(pending, func(v kdforest.Visit) { o.plainPath = append(o.plainPath, v.Record) })
	if err != nil {
		return nil, fmt.Errorf("request %d in the clear: %w", i, err)
	}
	for _, m := range o.reply.Matches {
		o.encrypted = append(o.encrypted, m.Record)
	}
	for _, h := range hits {
		o.plain = append(o.plain, h.Record)
	}
	if o.near, err = pending.Neighbours(o.reply); err != nil {
		return nil, fmt.Errorf("request %d: %w", i, err)
	}
	if p.Scheme != cpar.SchemeCAPIA && p.Approx == 1000 {
		all := *q
		all.Params.Scheme, all.Params.Search, all.Order = cpar.SchemeCAPIA, 0, nil
		scan, err := search.Annotate(s.Cloud, &all)
		if err != nil {
			return nil, fmt.Errorf("request %d scanned: %w", i, err)
		}
		o.sameAsScan = reflect.DeepEqual(scan.Matches, o.reply.Matches)
	}
	return o, nil
}

// MeasureAgreement runs every test request through capia, and through cpar and ivf at
// several AP, encrypted and in the clear.
func MeasureAgreement(ctx context.Context, s *Session, _ *Corpus, progress user.Progress) (*Agreement, error) {
	n := len(s.Requests)
	a := &Agreement{Records: int(s.Cloud.Manifest.Records), Requests: n,
		RankAgreement: map[string]float64{}, Recall: map[string]float64{}, RecallByRank: map[string]float64{},
		RecallBestBin: map[string]float64{}, RecallIVF: map[string]float64{}, Default: s.Builder.DefaultParams().Search.String()}
	scan, err := s.runAll(ctx, cpar.Params{Scheme: cpar.SchemeCAPIA, L: 10, Approx: 1000}, progress, "capia")
	if err != nil {
		return nil, err
	}
	a.RankAgreement["capia"] = RoundTo(scan.rankAgreement(), 4)
	samePaths, paths, sameLists, lists, sameFull, full := 0, 0, 0, 0, 0, 0
	for _, how := range searches {
		for _, approx := range append([]uint16{1000}, recallApprox...) {
			name, p := approxName(approx), searchParams(how, approx, 10)
			run, err := s.runAll(ctx, p, progress, configurationName(p))
			if err != nil {
				return nil, err
			}
			for _, o := range run {
				same, all := &samePaths, &paths
				if how == cpar.SearchIVF {
					same, all = &sameLists, &lists
				}
				*all++
				if len(o.plainPath) > 0 && slices.Equal(o.encryptedPath, o.plainPath) {
					*same++
				}
				if approx == 1000 {
					full++
				}
				if o.sameAsScan {
					sameFull++
				}
			}
			if approx != 1000 {
				a.recalls(how)[name] = RoundTo(run.recallOf(scan), 4)
			}
			if how == cpar.SearchDepthFirst && (approx == 1000 || approx == 100) {
				a.RankAgreement[configurationName(p)] = RoundTo(run.rankAgreement(), 4)
			}
		}
	}
	a.VisitOrderEqual = float64(samePaths) / float64(paths)
	a.ListOrderEqual = RoundTo(float64(sameLists)/float64(lists), 4)
	a.FullEqualsScan = float64(sameFull) / float64(full)
	return a, nil
}

// outcomes are the results of all test requests.
type outcomes []*outcome

func (s *Session) runAll(ctx context.Context, p cpar.Params, progress user.Progress, name string) (outcomes, error) {
	run := make(outcomes, len(s.Requests))
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range run {
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			run[i], err = s.answerAndCompare(i, p)
			if progress != nil {
				progress(name, int(done.Add(1)), len(run))
			}
			return err
		})
	}
	return run, group.Wait()
}

func (r outcomes) rankAgreement() float64 {
	var a, b [][]uint32
	for _, o := range r {
		a, b = append(a, o.encrypted), append(b, o.plain)
	}
	return agreement(a, b)
}

func (r outcomes) recallOf(scan outcomes) float64 {
	var found, truth [][]uint32
	for i, o := range r {
		found, truth = append(found, o.encrypted), append(truth, scan[i].encrypted)
	}
	return recall(found, truth)
}

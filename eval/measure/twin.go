package measure

import (
	"context"
	"fmt"
	"reflect"

	"cpar"
	"cpar/cloud/search"
	"cpar/kdforest"
	"cpar/model/rank"
	"cpar/user"
)

// An outcome is one request answered encrypted and in plaintext.
type outcome struct {
	encrypted, plain         []uint32
	EncryptedPath, PlainPath []uint32
	reply                    *cpar.Reply
	Near                     []rank.Neighbour
	// SameAsScan is set at AP-100 if a scan of the same ciphertext gives the
	// same reply.
	SameAsScan bool
}

// answerAndCompare answers test request i encrypted and in plaintext.
func (s *Session) answerAndCompare(i int, p cpar.Params) (*outcome, error) {
	pending, q, err := s.Builder.RequestVector(s.Requests[i], p)
	if err != nil {
		return nil, fmt.Errorf("request %d: %w", i, err)
	}
	o := new(outcome)
	o.reply, err = search.AnnotateTraced(s.Cloud, q, func(v kdforest.Visit) { o.EncryptedPath = append(o.EncryptedPath, v.Record) })
	if err != nil {
		return nil, fmt.Errorf("request %d: %w", i, err)
	}
	hits, err := s.Twin.Search(pending, func(v kdforest.Visit) { o.PlainPath = append(o.PlainPath, v.Record) })
	if err != nil {
		return nil, fmt.Errorf("request %d in the clear: %w", i, err)
	}
	for _, m := range o.reply.Matches {
		o.encrypted = append(o.encrypted, m.Record)
	}
	for _, h := range hits {
		o.plain = append(o.plain, h.Record)
	}
	if o.Near, err = pending.Neighbours(o.reply); err != nil {
		return nil, fmt.Errorf("request %d: %w", i, err)
	}
	if p.Scheme != cpar.SchemeCAPIA && p.Approx == 1000 {
		all := *q
		all.Params.Scheme, all.Params.Search, all.Order = cpar.SchemeCAPIA, 0, nil
		scan, err := search.Annotate(s.Cloud, &all)
		if err != nil {
			return nil, fmt.Errorf("request %d scanned: %w", i, err)
		}
		o.SameAsScan = reflect.DeepEqual(scan.Matches, o.reply.Matches)
	}
	return o, nil
}

type outcomes []*outcome

func (s *Session) RunAll(ctx context.Context, p cpar.Params, progress user.Progress, name string) (outcomes, error) {
	run := make(outcomes, len(s.Requests))
	told := CountStage(progress, name, len(run))
	return run, Each(ctx, len(run), func(i int) (err error) {
		run[i], err = s.answerAndCompare(i, p)
		told()
		return err
	})
}

func (r outcomes) RankAgreement() float64 {
	var a, b [][]uint32
	for _, o := range r {
		a, b = append(a, o.encrypted), append(b, o.plain)
	}
	return agreement(a, b)
}

func (r outcomes) RecallOf(scan outcomes) float64 {
	var found, truth [][]uint32
	for i, o := range r {
		found, truth = append(found, o.encrypted), append(truth, scan[i].encrypted)
	}
	return RecallAt10(found, truth)
}

func (r outcomes) Annotations() [][]string {
	out := make([][]string, len(r))
	for i, o := range r {
		out[i] = KeywordStrings(rank.Keywords(o.Near, StandardKeywords))
	}
	return out
}

// agreement returns the share of ranks at which two rankings have the same
// record.
func agreement(a, b [][]uint32) float64 {
	same, all := 0, 0
	for i := range a {
		for j := range max(len(a[i]), len(b[i])) {
			all++
			if j < len(a[i]) && j < len(b[i]) && a[i][j] == b[i][j] {
				same++
			}
		}
	}
	return float64(same) / float64(all)
}

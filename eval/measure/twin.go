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

// An outcome holds the encrypted and the plaintext answer to one request.
type outcome struct {
	encrypted, plain         []uint32
	EncryptedPath, PlainPath []uint32
	reply                    *cpar.Reply
	Near                     []rank.Neighbour
	// SameAsScan is true at AP-100 (all records visited) if a scan of the same
	// ciphertext gives the same reply.
	SameAsScan bool
}

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
	o.encrypted = MatchRecords(o.reply)
	o.plain = Map(hits, func(h kdforest.Hit) uint32 { return h.Record })
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
	return agreement(r.encrypted(), Map(r, func(o *outcome) []uint32 { return o.plain }))
}

func (r outcomes) RecallOf(scan outcomes) float64 { return RecallAt10(r.encrypted(), scan.encrypted()) }

func (r outcomes) encrypted() [][]uint32 {
	return Map(r, func(o *outcome) []uint32 { return o.encrypted })
}

func (r outcomes) Annotations() [][]string {
	return Map(r, func(o *outcome) []string { return KeywordStrings(rank.Keywords(o.Near, StandardKeywords)) })
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

package tune

import (
	"fmt"

	"cpar/model/profile"
	"cpar/model/rank"
)

const (
	// Results on fewer than tooFew photos are uncertain.
	tooFew = 100
	// muchSlower is the largest acceptable ratio to the fastest profile's time
	// per photo.
	muchSlower = 1.5
)

// decide recommends a row. It considers profiles whose merit, the harmonic mean of
// precision P and recall R, is within noise of the best. It leaves out profiles that
// take more than muchSlower times as long as the fastest, and recommends the profile
// with the smallest index. A profile is judged by its default ranker, unless its other
// ranker's merit is higher by more than noise.
func (t *Tuning) decide() {
	t.Recommended.Profile, t.Recommended.Ranker = profile.Paper, rank.KindPaper
	if t.Photos < tooFew {
		t.Reason = fmt.Sprintf("%d photos are too few to tell profiles apart: at least %d are needed", t.Photos, tooFew)
		return
	}
	var champions []*Row
	for _, kind := range profile.Kinds() {
		if row := t.champion(kind); row != nil {
			champions = append(champions, row)
		}
	}
	best := champions[0]
	for _, row := range champions {
		if row.Merit() > best.Merit() {
			best = row
		}
	}
	if best.Merit() == 0 {
		t.Reason = "no profile found any photo's keywords: they seem to have nothing to do with what the photos look like"
		return
	}
	var asGood []*Row
	for _, row := range champions {
		if row == best || rank.WithinNoise(&row.Validation, &best.Validation, false) {
			asGood = append(asGood, row)
		}
	}
	chosen := cheapest(asGood)
	t.Recommended.Profile, t.Recommended.Ranker = chosen.Profile, chosen.Ranker
	t.Reason = t.because(chosen, best, champions)
}

// champion returns the row by which a profile is judged, or nil if the profile
// was not tried.
func (t *Tuning) champion(kind profile.Kind) *Row {
	usual := kind.Ranker(rank.KindDefault)
	other := rank.KindPaper
	if usual == rank.KindPaper {
		other = rank.KindCalibrated
	}
	a, b := t.row(kind, usual), t.row(kind, other)
	if a == nil || b == nil || b.Merit() <= a.Merit() || rank.WithinNoise(&a.Validation, &b.Validation, true) {
		return a
	}
	return b
}

// cheapest returns the row with the smallest index among rows that take at most
// muchSlower times as long as the fastest.
func cheapest(rows []*Row) *Row {
	fastest := rows[0].OwnerMS
	for _, row := range rows {
		fastest = min(fastest, row.OwnerMS)
	}
	var chosen *Row
	for _, row := range rows {
		if row.OwnerMS <= muchSlower*fastest && (chosen == nil || row.IndexBytes.CAPIA < chosen.IndexBytes.CAPIA) {
			chosen = row
		}
	}
	return chosen
}

func (t *Tuning) because(chosen, best *Row, all []*Row) string {
	mean := func(row *Row) string { return fmt.Sprintf("%.1f %%", 100*row.Merit()) }
	name := func(row *Row) string { return fmt.Sprintf("%v (ranker %v)", row.Profile, row.Ranker) }
	if chosen != best {
		what := fmt.Sprintf("its index is smaller (%.1f MB, not %.1f)", megabytes(chosen), megabytes(best))
		if chosen.OwnerMS*muchSlower < best.OwnerMS {
			what = fmt.Sprintf("a photo costs you less (%.0f ms, not %.0f)", chosen.OwnerMS, best.OwnerMS)
		}
		return fmt.Sprintf("profile %s is as good as %s within the noise of folds (harmonic mean of the shares right and found %s and %s, ±%.1f), and %s",
			name(chosen), name(best), mean(chosen), mean(best), 200*rank.StandardError(&chosen.Validation, &best.Validation, false), what)
	}
	others := ""
	for _, row := range all {
		if row != chosen {
			others += fmt.Sprintf(", %s %s", name(row), mean(row))
		}
	}
	if others == "" {
		return fmt.Sprintf("only profile %v could be tried", chosen.Profile)
	}
	return fmt.Sprintf("profile %s finds most: harmonic mean of the shares right and found %s; %s", name(chosen), mean(chosen), others[2:])
}

func megabytes(row *Row) float64 { return float64(row.IndexBytes.CAPIA) / 1e6 }

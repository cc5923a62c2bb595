package attack

import (
	"math"

	"cpar/eval/estimate"
)

// A Row is the result of one attack.
type Row struct {
	Attack string `json:"attack"`
	Scheme string `json:"scheme"`
	// Profile is that of the index; in results of earlier versions it is "", meaning paper.
	Profile string `json:"profile,omitempty"`
	// Known is how much the attacker knew beforehand or observed; the unit depends on the attack.
	Known int `json:"known"`
	// Success is the share of Trials that the attacker got right, Baseline the share by
	// guessing, Low and High the 95 % confidence interval of Success.
	Success  float64 `json:"success"`
	Baseline float64 `json:"baseline"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Trials   int     `json:"trials"`
	// Refused names the errors by which owners refuse what a cloud offers; "" where nothing is offered.
	Refused string `json:"refused,omitempty"`
	// Estimate, in a row without trials, is the cost of an attack that is not carried out.
	Estimate *estimate.Estimate `json:"estimate,omitempty"`
}

// proportion returns the row for right out of trials.
func proportion(attack, scheme string, known, right, trials int, baseline float64) Row {
	low, high := Wilson(right, trials)
	return Row{Attack: attack, Scheme: scheme, Known: known, Success: float64(right) / float64(max(trials, 1)),
		Baseline: baseline, Low: low, High: high, Trials: trials}
}

// Wilson returns the 95 % score interval of a proportion (E. B. Wilson, JASA 22, 1927):
// the values of p compatible with right out of trials. Trials count as independent; those
// of one index are not quite, so another key and another collection may differ by more.
func Wilson(right, trials int) (low, high float64) {
	if trials == 0 {
		return 0, 1
	}
	const z = 1.959963984540054 // the 97.5 % point of a normal distribution
	n, p := float64(trials), float64(right)/float64(trials)
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high = centre-half, centre+half
	// Exact ends, whatever rounding gives.
	if right == 0 {
		low = 0
	}
	if right == trials {
		high = 1
	}
	return low, high
}

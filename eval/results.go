package eval

import (
	"slices"
	"strings"

	"cpar/eval/step"
)

// Results are all that is measured.
type Results struct {
	Machine string
	// Each are the results that are there, in the order of a report.
	Each []Result
	// Steps are how the results came about, in the order of the run.
	Steps []step.Record
	// Failed says, by measurement, what went wrong.
	Failed []Failure
}

// A Failure is a measurement without a result, or with half of one.
type Failure struct {
	Step  string `json:"step"`
	Error string `json:"error"`
}

// Of returns the result of one type, nil where it is not there.
func Of[R Result](r *Results) (none R) {
	for _, x := range r.Each {
		if x, ok := x.(R); ok {
			return x
		}
	}
	return none
}

// machines says where steps were measured, which need not be where they are
// shown, nor one place: kept results of another machine may have been taken.
// Without a step that tells, it is this machine.
func machines(steps []step.Record) string {
	var names []string
	for _, record := range steps {
		if _, machine, ok := strings.Cut(record.Identity, " "); ok && !slices.Contains(names, machine) {
			names = append(names, machine)
		}
	}
	if len(names) == 0 {
		return Machine()
	}
	return strings.Join(names, "; ")
}

// Identity is what results belong to besides their inputs: the program that
// measured and the machine it ran on, for step.Runner.
func Identity() (string, error) {
	program, err := programDigest()
	return program + " " + Machine(), err
}

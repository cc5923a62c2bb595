package eval

import (
	"slices"
	"strings"

	"cpar/eval/checkpoint"
)

// Results holds everything measured.
type Results struct {
	Machine string
	// Each holds the available results, in the order of a report.
	Each []Result
	// Steps say how the results were obtained, in the order of the run.
	Steps []checkpoint.Record
	// Failed lists what went wrong, by measurement.
	Failed []Failure
}

// A Failure is a measurement with no result, or only a partial one.
type Failure struct {
	Step  string `json:"step"`
	Error string `json:"error"`
}

// Of returns the result of one type, nil if there is none.
func Of[R Result](r *Results) (none R) {
	for _, x := range r.Each {
		if x, ok := x.(R); ok {
			return x
		}
	}
	return none
}

// machines names the machines that measured the steps, which may be several and need not
// include this one: kept results of other machines may have been accepted. Without any
// information it is this machine.
func machines(steps []checkpoint.Record) string {
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

// Identity returns what results belong to besides their inputs: the measuring program and
// its machine, for step.Runner.
func Identity() (string, error) {
	program, err := programDigest()
	return program + " " + Machine(), err
}

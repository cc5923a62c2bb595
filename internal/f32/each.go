package f32

// AtEachLevel activates each set of kernels that the processor supports, and
// calls f with its name. Nothing else may use the package meanwhile.
func AtEachLevel(f func(kernels string)) {
	defer func(l level) { active = l }(active)
	for active = plain; active <= best(); active++ {
		f(active.String())
	}
}

package f32

// AtEachLevel calls f with each set of kernels that the processor supports in
// use, and with its name. The caller must be the package's only user meanwhile.
func AtEachLevel(f func(kernels string)) {
	defer func(l level) { active = l }(active)
	for active = plain; active <= best(); active++ {
		f(active.String())
	}
}

// Package internal groups the packages that several rooms share.
//
//	arithmetic   f32, fourier, modq, mod48, lattice, parallel, kernelgen
//	bytes        wire, indexdir, durable, seed, bearer
//	commands     settings, exitcode, hint, doctor, manpage, progress, stdout, version
//	text         enum, humanfmt, sanitize, leakage, interruptible, paper
//	tests        scene, testing/…
//
// Outside testing/, these packages import none of the rooms photo, encoder,
// model, user and cloud. Those that the cloud links handle no key or plaintext.
// internal/testing/policy checks both rules.
package internal

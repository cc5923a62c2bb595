// Package internal groups the packages that several rooms share.
//
//	arithmetic   f32, fourier, modq, mod48, lattice, parallel, kernelgen
//	bytes        wire, indexdir, durable, seed, bearer
//	commands     settings, exitcode, hint, doctor, manpage, progress, stdout, version
//	text         enum, humanfmt, sanitize, leakage, interruptible, paper
//	tests        scene, testing/…
//
// Outside testing/, a shared package imports no room: neither photo, encoder,
// model, user nor cloud. The packages that the cloud links handle no key or
// plaintext, as internal/testing/policy checks.
package internal

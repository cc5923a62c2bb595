// Package attack mounts attacks on the schemes with a real collection. It
// extracts the information that SECURITY.md says a cloud can learn, and counts
// the successes.
//
//	requests as bytes ─▶ Cloud ─▶ View (index, scores, order, planes, paths, replies)
//	View + prior knowledge ─▶ attack ─▶ guesses ─▶ judge ─▶ Row
//
// An attack is a function of a View and of the prior knowledge listed below. A
// Cloud derives the View from the bytes of an index and of requests, as the
// daemon does. Owners, plaintext and secrets serve only to make requests and to
// judge guesses. S is the secret key matrix. r_s and r are a request's secret
// scale and offset of scores.
//
//	link-…        link.go      are two requests for one photo?      known: nothing
//	request-…     request.go   which photo is a request for?        known: k photos or vectors of records
//	match         match.go     which record is which photo?         known: the collection's photos, no pairs
//	spacing-…     spacing.go   how far apart are split values?      known: nothing
//	scale-…       spacing.go   r_s and r                            known: nothing
//	…-slopes      slopes.go    r_s and r, exactly                   known: nothing, from repeated requests
//	keyword-…     keyword.go   what is a record about?              known: statistics, or k records' keywords
//	key-…         key.go       S, with costs by eval/estimate       known: k records' vectors
//	link-refusals refusals.go  are two requests for one photo?      known: which altered replies were refused
//	cluster-…     cell.go      which hidden cell is asked?          known: nothing, or k requests' cells
//	word-or-photo word.go      is a request for a word or a photo?  known: 2k requests and their kinds
//	rollback-…    offers.go    is an old or mixed version accepted? known: all generations
//	downgrade-…   offers.go    is another format accepted?          known: the index
//	fork-by-card  trust.go     is a branch accepted after its card? known: its card
//	branch-17     trust.go     is a long branch accepted?           known: all generations
//	key-swap      trust.go     is another key accepted?             known: the passphrase
//	traffic-…     traffic.go   did a run find keywords?             known: a run without keywords
//	blob-…        blobs.go     which photo was added or fetched?    known: k candidates' sizes
//	key-by-scores keyscores.go S, without a lattice                 known: k records' vectors
//	nearest-…     lll.go       which records are similar, by LLL    known: nothing, not even a request
//
// Attacks key-by-scores and nearest-… concern profiles "learned" and "network"
// (learnt.go). The distances of these profiles are secret, so the attacker also
// tries other distances in their place.
//
// The photos are from the paper's evaluation. An attacker computes the vectors
// of known photos by running the program on photos of its own. The projection
// from features to vectors is the owner's secret. Only attacks that assume
// known vectors may use it.
//
// To attack another scheme, pass a Target in Options.More.
package attack

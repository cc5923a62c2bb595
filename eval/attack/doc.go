// Package attack attacks the schemes: what SECURITY.md says that a cloud can learn
// is learnt here, and counted, on a real collection.
//
//	requests as bytes ─▶ Cloud ─▶ View (index, scores, order, planes, paths, replies)
//	View, what the attacker knows besides ─▶ an attack ─▶ guesses ─▶ judged ─▶ Row
//
// An attack is a function of a View and of what it names as known, and of nothing
// else. The View is made by a Cloud from the bytes of an index and of requests, as
// the daemon reads them. Owners, their plaintext and their secrets appear in two
// places: where requests are made, and where guesses are judged.
//
//	link-…        link.go     two requests: for one photo?         known: nothing
//	request-…     request.go  which photo was asked about?         known: k photos, or vectors, of records
//	match         match.go    which record is which photo?         known: the collection's photos, no pair
//	spacing-…     spacing.go  how far apart are split values?      known: nothing
//	scale-…       spacing.go  r_s and r                            known: nothing
//	…-slopes      slopes.go   r_s and r, exactly                   known: nothing, but requests for one photo
//	keyword-…     keyword.go  what is a record about?              known: statistics, or k records' keywords
//	key-…         key.go      S; estimates in lattice.go           known: k records' vectors
//	key-by-scores keyscores.go  S, without a lattice               known: k records' vectors
//	nearest-…     lll.go      which records are alike, by LLL      known: nothing, no request
//
// The last two are of profiles `learned` and `network` (learnt.go), whose distances an
// attacker also guesses by stand-ins (standin.go).
//
// Photos are those of the paper's evaluation. Vectors of known photos come from the
// program itself, run on the attacker's own photos; the projection is the owner's
// secret, and only attacks on known vectors have them from the owner.
//
// Another scheme is attacked by passing a Target for it (Options.More).
package attack

// Package attack attacks the schemes on a real collection: it learns what SECURITY.md
// says a cloud can learn, and counts how often it succeeds.
//
//	requests as bytes ─▶ Cloud ─▶ View (index, scores, order, planes, paths, replies)
//	View, what the attacker knows besides ─▶ an attack ─▶ guesses ─▶ judged ─▶ Row
//
// An attack is a function of a View and of what is listed below as known, and of nothing
// else. A Cloud makes the View from the bytes of an index and of requests, as the daemon
// reads them. Owners, their plaintext and their secrets appear in two places only: where
// requests are made, and where guesses are judged.
//
//	link-…        link.go     are two requests for one photo?      known: nothing
//	request-…     request.go  which photo is a request for?        known: k photos, or vectors, of records
//	match         match.go    which record is which photo?         known: the collection's photos, no pairs
//	spacing-…     spacing.go  how far apart are split values?      known: nothing
//	scale-…       spacing.go  r_s and r                            known: nothing
//	…-slopes      slopes.go   r_s and r, exactly                   known: nothing, but several requests per photo
//	keyword-…     keyword.go  what is a record about?              known: statistics, or k records' keywords
//	key-…         key.go      S; estimates by eval/estimate        known: k records' vectors
//	link-refusals liar.go     are two requests for one photo?      known: which lies were refused
//	cluster-…     which.go    which hidden cluster is asked?       known: nothing, or k requests' clusters
//	rollback-…    offers.go   is an older or a mixed state taken?  known: all states
//	downgrade-…   offers.go   is another format or scheme taken?   known: the index
//	key-by-scores keyscores.go  S, without a lattice               known: k records' vectors
//	nearest-…     lll.go      which records are similar, by LLL    known: nothing, not even a request
//
// The last two concern profiles learned and network (learnt.go), whose distances an
// attacker also guesses from stand-ins (standin.go).
//
// Photos are those of the paper's evaluation. The program itself, run on the attacker's
// own photos, gives the vectors of known photos. The projection is the owner's secret;
// only attacks on known vectors get it from the owner.
//
// To attack another scheme, pass a Target for it (Options.More).
package attack

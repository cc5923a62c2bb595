// Package library annotates photos in place and can undo the changes.
//
//	photos ─▶ look: stat, content ─▶ known? ─────────────────────────────▶ answer
//	                                  │ no                                   │
//	                                  ▼                                      ▼
//	              features (all cores) ─▶ device.Index, in batches ─▶ keywords
//	                                                                         │
//	   journal: intended changes, synced ◀─ metadata.Plan ◀──────────────────┘
//	                 │
//	                 ▼
//	        sidecars, JPEG files ─▶ journal: done
//
// While the cloud answers one batch of requests, the package computes the
// features of the next batch. It writes keywords after the last request. A
// photo is identified by its content (decode.ContentDigest), so a moved photo
// causes no second request. A file with unchanged path, size, time and inode
// is not read again. An answer is valid for one generation (version) of an
// index and one set of options.
//
// A run is the set of changes made by one command. Undo reverts it. A file
// that has not changed since the run gets its former bytes back. From any
// other file, Undo removes exactly the words of the run (metadata.Retract).
//
// The journal is encrypted under the key and stored outside the folders of photos:
//
//	STATE/library/FINGERPRINT/…
//
// The next run repeats a request whose reply was rejected.
package library

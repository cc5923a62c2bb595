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
// While the cloud answers one batch, library computes the features of the next.
// It writes after the last request. A photo is identified by its
// content (decode.ContentDigest), so a moved photo is not requested again.
// Unchanged path, size, time and inode save reading the file. An answer holds
// for one generation of an index and one set of options.
//
// Undo reverts a run. A file that is unchanged since gets its former bytes
// back. From any other file Undo removes exactly the words of the run
// (metadata.Retract).
//
// The journal is encrypted under the key and lies outside the photos:
//
//	STATE/library/FINGERPRINT/…
//
// The next run repeats requests whose replies were rejected.
package library

// Package library annotates photos where they lie, and takes it back.
//
//	photos ─▶ look: stat, content ─▶ known? ─────────────────────────────▶ answer
//	                                  │ no                                   │
//	                                  ▼                                      ▼
//	              features (all cores) ─▶ device.Index, a group at once ─▶ words
//	                                                                         │
//	   journal: what will be changed, synced ◀─ metadata.Plan ◀──────────────┘
//	                 │
//	                 ▼
//	        sidecars, JPEG files ─▶ journal: done
//
// While the cloud answers for one group of photos, the features of the next are computed
// and the words of the one before are written. A photo is known by what it shows
// (picture.Content), so one that was moved or renamed is not asked about again; a look at
// path, size, time and inode spares reading the file. Answers hold for one state of one
// index and one way of asking.
//
// Undo takes back a run: a file that still is what the run left gets its bytes of before;
// from another exactly the words of the run go (metadata.Retract).
//
// All this is remembered in one log of the key's vault, outside the photos:
//
//	STATE/library/FINGERPRINT/…
//
// A photo whose reply was refused has failed, and is asked about again by the next run.
package library

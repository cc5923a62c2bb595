package leakage

// Album describes what a cloud sees of an album whose owner adds, searches and
// looks at photos. docs/security/device.md names the tests.
func Album() []Observation {
	return []Observation{
		{What: "photos that are added: encrypted packs of up to 20 MB",
			Learns: "when photos are added, and how many bytes together; the size of a photo that is added alone, to within 4 KiB"},
		{What: "the catalogue: encrypted, fetched whole, in segments of padded size",
			Learns: "when it changes; no keyword, date or place, and nothing of searches, which run on this device, except those by likeness"},
		{What: "thumbnails: one encrypted part for each size, month and run of cpar album add, until maintenance merges them",
			Learns: "in how many months the photos of a run were taken, and roughly how many photos each part holds; not which month it is"},
		{What: "a part of thumbnails that is fetched when photos of its month are first shown on a device",
			Learns: "which part is looked at, and when: the parts of one month, but not which photo in them; with --prefetch only that whole years were fetched"},
		{What: "an original that is opened, saved or written by cpar album get: ranges of packs",
			Learns: "when a photo is read, which packs and ranges hold it, and so its exact size and whether it was read before"},
		{What: "a search by likeness: the identities of an index, then a request like that for any photo",
			Learns: "when you search; not for which photo or words, unless an original is fetched just before, and not what is found"},
		{What: "keywords edited on the page: a segment and a generation of padded size",
			Learns: "when keywords are edited; not which photos and words"},
	}
}

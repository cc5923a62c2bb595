package indexdir

// OpenWith is Open with something happening in the middle.
func OpenWith(folder string, between func()) (*Index, error) { return open(MemoryMap, folder, between) }

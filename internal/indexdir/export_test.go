package indexdir

// LastKind is the greatest kind of segment whose temporary files are known.
const LastKind = lastKind

// OpenWith is Open with something happening in the middle.
func OpenWith(folder string, between func()) (*Index, error) { return open(MemoryMap, folder, between) }

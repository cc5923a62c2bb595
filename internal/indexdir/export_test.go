package indexdir

// LastKind is the greatest segment kind whose temporary files are recognised.
const LastKind = lastKind

// OpenWith is Open with a hook in the middle.
func OpenWith(folder string, between func()) (*Index, error) { return open(MemoryMap, folder, between) }

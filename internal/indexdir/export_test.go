package indexdir

const LastKind = lastKind

// OpenWith is Open with a hook between manifest and segments.
func OpenWith(folder string, between func()) (*Index, error) { return open(MemoryMap, folder, between) }

package measure

// Names that the external tests need.
const AugmentMagic = augmentMagic

var (
	AugmentPixels   = augmentPixels
	AugmentedSize   = augmentedSize
	Castagnoli      = castagnoli
	DecodeAugmented = decodeAugmented
	EncodeAugmented = encodeAugmented
	EvenlySpaced    = evenlySpaced
)

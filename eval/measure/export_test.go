package measure

// Names that the external tests need.
var EvenlySpaced = evenlySpaced

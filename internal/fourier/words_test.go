package fourier

import (
	"testing"

	"cpar/internal/testing/arm64words"
)

func TestWordsOfNEON(t *testing.T) { arm64words.Check(t, ".") }

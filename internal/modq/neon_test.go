package modq

import (
	"testing"

	"cpar/internal/testing/arm64words"
	"cpar/internal/testing/kernels"
)

func TestWordsOfNEON(t *testing.T) { arm64words.Check(t, ".") }

func TestRequiredKernelsRun(t *testing.T) { kernels.Require(t, AtEachLevel) }

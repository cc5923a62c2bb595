package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar/internal/untrusted"
	"cpar/user"
)

// next tells a person what to do next, on standard error.
func next(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "next: "+format+"\n", args...)
}

// output prints v as JSON, or calls human.
func output(c *cobra.Command, asJSON bool, v any, human func()) error {
	if !asJSON {
		human()
		return nil
	}
	return writeJSON(c.OutOrStdout(), v)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func printSkipped(notes io.Writer, skipped []user.Skipped) {
	for i, s := range skipped {
		if i == 10 {
			fmt.Fprintf(notes, "… and %d more\n", len(skipped)-i)
			break
		}
		fmt.Fprintf(notes, "left out %s: %s\n", untrusted.Text(s.Name), untrusted.Text(s.Reason))
	}
}

func size(n uint64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%d MB", (n+500_000)/1_000_000)
}

func photosOf(n int) string {
	if n == 1 {
		return "1 photo"
	}
	return fmt.Sprintf("%d photos", n)
}

var errPartly = errors.New("some photos failed")

// partly makes an error of the photos that failed, keeping the first one's
// kind for the exit code.
func partly(failed int, all int, first error) error {
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d; the first: %w", errPartly, failed, all, first)
}

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/interruptible"
)

var errNoTerminal = errors.New("there is no terminal to ask on")

// prompt asks for a passphrase and does not show it. ^C ends the prompt
// immediately and restores the terminal.
func prompt(ctx context.Context, label string) (string, error) {
	fd := int(os.Stdin.Fd())
	// Use MakeRaw, because an interrupt of term.ReadPassword would leave the
	// terminal without echo.
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", hint.Add(hint.Kind(fmt.Errorf("asking for the passphrase: %w", errNoTerminal), cpar.ErrKey),
			"pass --passphrase-file FILE, or let the system's keyring open it: cpar key remember")
	}
	fmt.Fprint(os.Stderr, label)
	typed, err := interruptible.Answer(ctx, func() (string, error) { return readHidden(os.Stdin) })
	if e := term.Restore(fd, before); err == nil && e != nil {
		err = e
	}
	fmt.Fprintln(os.Stderr)
	if err != nil && ctx.Err() == nil && !errors.Is(err, exitcode.ErrInterrupted) {
		err = hint.Kind(fmt.Errorf("asking for the passphrase: %w", err), cpar.ErrKey)
	}
	return typed, err
}

// These are the control keys that a terminal sends in raw mode.
const (
	keyInterrupt = 0x03 // ^C
	keyEnd       = 0x04 // ^D
	keyBackspace = 0x08
	keyClear     = 0x15 // ^U
	keyDelete    = 0x7f
)

// readHidden reads a line, one key at a time.
func readHidden(from io.Reader) (string, error) {
	var line []byte
	key := make([]byte, 1)
	for {
		if n, err := from.Read(key); n == 0 {
			return "", cmp.Or(err, io.ErrNoProgress)
		}
		switch key[0] {
		case '\r', '\n':
			return string(line), nil
		case keyInterrupt:
			return "", errInterrupted
		case keyEnd:
			if len(line) == 0 {
				return "", io.EOF
			}
		case keyBackspace, keyDelete:
			_, size := utf8.DecodeLastRune(line)
			line = line[:len(line)-size]
		case keyClear:
			line = line[:0]
		default:
			line = append(line, key[0])
		}
	}
}

// promptWords reads n visible words, over any number of lines, from the
// terminal or standard input.
func promptWords(ctx context.Context, label string, n int) (string, error) {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprint(os.Stderr, label)
	}
	return interruptible.Answer(ctx, func() (string, error) {
		var words []string
		lines := bufio.NewScanner(io.LimitReader(os.Stdin, 1<<12))
		for len(words) < n && lines.Scan() {
			words = append(words, strings.Fields(lines.Text())...)
		}
		if err := lines.Err(); err != nil {
			return "", fmt.Errorf("reading standard input: %w: %w", cpar.ErrInput, err)
		}
		return strings.Join(words, " "), nil
	})
}

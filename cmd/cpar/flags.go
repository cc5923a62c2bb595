package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/photo"
)

func jsonFlag(c *cobra.Command, to *bool) *cobra.Command {
	c.Flags().BoolVar(to, "json", false, "print JSON instead of text")
	return c
}

func dryRunFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "dry-run", false, "print what would be done, and write nothing")
}

func writerFlags(c *cobra.Command, dryRun, asJSON *bool) *cobra.Command {
	dryRunFlag(c, dryRun)
	return jsonFlag(c, asJSON)
}

// group completes the definition of a command that only has subcommands.
func group(c *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	c.Args, c.RunE = noArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(subcommands...)
	return c
}

// either returns `would` for a dry run, otherwise `done`.
func either(dryRun bool, would, done string) string {
	if dryRun {
		return would
	}
	return done
}

// usageOf returns a usage error. The caller should add a hint.
func usageOf(text string) error { return exitcode.UsageError(errors.New(text)) }

func usageError(c *cobra.Command, err error) error {
	return hint.Add(exitcode.UsageError(err), "see: %s --help", c.CommandPath())
}

// missing returns a usage error for a missing argument, with the first example
// of the command's help.
func missing(c *cobra.Command, what string) error {
	example, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(c.Example), "$ "), "\n")
	example, _, _ = strings.Cut(example, "   ") // cuts off a remark
	return hint.Add(exitcode.UsageError(fmt.Errorf("%s needs %s", c.CommandPath(), what)), "for example: %s; see: %s --help", example, c.CommandPath())
}

// noArgs, oneArg and someArgs check the number of arguments. `what` describes a
// missing argument in error messages.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(c, fmt.Errorf("%s takes no %q", c.CommandPath(), args[0]))
	}
	return nil
}

func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return missing(c, fmt.Sprintf("%s, and has %d arguments", what, len(args)))
		}
		return nil
	}
}

func someArgs(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return missing(c, what)
		}
		return nil
	}
}

// verbose reports whether --verbose is set, which makes commands name every
// file that they leave out.
func verbose(c *cobra.Command) bool {
	on, err := c.Flags().GetBool("verbose")
	return err == nil && on
}

// findPhotos lists the photos in files and folders. For the files left out, it
// prints their number by reason or, with --verbose, their names.
func findPhotos(cmd *cobra.Command, paths []string, o photo.Options) ([]photo.Photo, error) {
	l, err := listPhotos(cmd, paths, o)
	if l == nil {
		return nil, err
	}
	return l.Photos, err
}

func listPhotos(cmd *cobra.Command, paths []string, o photo.Options) (*photo.Listing, error) {
	l, err := photo.List(cmd.Context(), paths, o)
	if l == nil {
		if errors.Is(err, cpar.ErrInput) {
			err = hint.Add(err, "check the spelling and the folder you are in")
		}
		return nil, err
	}
	tellListing(cmd, l)
	return l, err
}

// tellListing prints the number of files left out by reason and, with --verbose,
// their names.
func tellListing(cmd *cobra.Command, l *photo.Listing) {
	if verbose(cmd) {
		for _, s := range l.Skipped {
			fmt.Fprintln(cmd.ErrOrStderr(), "left out", s)
		}
	}
	if text := l.Summary(); text != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), text)
	}
}

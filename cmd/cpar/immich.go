package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/user/immich"
)

type serverFlags struct{ address, keyFile string }

func (f *serverFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.address, "server", os.Getenv("CPAR_IMMICH"), "`URL` of the Immich server (default $CPAR_IMMICH)")
	c.Flags().StringVar(&f.keyFile, "api-key-file", "", "`file` with an API key of Immich (default: the key in $CPAR_IMMICH_API_KEY)")
}

// client returns a client of the server. The API key is never a command-line
// argument, because every program on the machine can read such arguments.
func (f *serverFlags) client() (*immich.Client, error) {
	if f.address == "" {
		return nil, hint.Add(usageOf("no Immich server was named"), "pass --server https://photos.example")
	}
	key := os.Getenv("CPAR_IMMICH_API_KEY")
	if f.keyFile != "" {
		b, err := os.ReadFile(f.keyFile)
		if err != nil {
			return nil, fmt.Errorf("reading Immich's API key: %w: %w", cpar.ErrInput, err)
		}
		key = strings.TrimSpace(string(b))
	}
	return immich.NewClient(f.address, key)
}

type immichFlags struct {
	ask    programFlags
	server serverFlags
	albums []string
	since  string
	dryRun bool
	again  bool
	asJSON bool
}

func immichCommand() *cobra.Command {
	var f immichFlags
	c := &cobra.Command{
		Use:   "immich",
		Short: "tag the photos of an Immich library",
		Long: `immich tags the photos of an Immich library with your keywords below the tag auto, as
auto/dog. It fetches Immich's previews, sends the cloud encrypted requests as cpar
annotate does, and adds the likely tags (--right). Your own tags stay
unchanged and are not repeated.

Photos already annotated with this generation of the index are skipped, so the command can
be stopped and run every night. Each run has a name and can be undone.

Make an API key in Immich (Account Settings, API Keys) with only these permissions:
asset.read, asset.view, tag.read, tag.create, tag.asset, and tag.delete if undo should
remove empty tags at once. The key is read from --api-key-file or $CPAR_IMMICH_API_KEY. It
travels over HTTPS, unless Immich is on this machine or at the end of a tunnel.

Immich sees the tags. The cloud does not.`,
		Example: `  $ cpar immich --server https://photos.example --api-key-file immich.key
  IMG_0412.jpg  auto/beach auto/dog
  tagged 1 photo with 2 tags, 0 photos were known
  next: cpar immich undo immich-20261122-190512 takes them off

  $ cpar immich check
  $ cpar immich undo --last`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.ask.add(c)
	f.server.add(c)
	c.Flags().StringSliceVar(&f.albums, "album", nil, "only the photos of the album with this `id`, which its address contains")
	c.Flags().StringVar(&f.since, "since", "", "only photos taken since this `day`, such as 2026-01-31")
	c.Flags().BoolVar(&f.again, "again", false, "also photos that were annotated before")
	dryRunFlag(c, &f.dryRun)
	c.Flags().Lookup("dry-run").Usage = "send requests and print the tags, but tag nothing"
	c.Flags().BoolVar(&f.asJSON, "json", false, "print one line of JSON per photo, and one for the run")
	c.AddCommand(immichUndoCommand(), immichCheckCommand(), immichRunsCommand())
	return c
}

func (f *immichFlags) run(cmd *cobra.Command) error {
	if err := f.ask.check(cmd); err != nil {
		return err
	}
	o := immich.Options{Filter: immich.Filter{Albums: f.albums}, DryRun: f.dryRun, Again: f.again}
	if f.since != "" {
		day, err := time.ParseInLocation("2006-01-02", f.since, time.Local)
		if err != nil {
			return exitcode.UsageError(fmt.Errorf("--since %q is not a day; write it as 2026-01-31", f.since))
		}
		o.Taken = day
	}
	client, err := f.server.client()
	if err != nil {
		return err
	}
	a, x, err := f.ask.index(cmd)
	if err != nil {
		return err
	}
	journal, err := immich.OpenJournal(a.key, a.this)
	if err != nil {
		return err
	}
	var first error
	o.Annotate = f.ask.annotateOptions()
	o.Annotate.Progress = bar.On(cmd.ErrOrStderr())
	o.Each = func(r immich.Result) {
		if r.Err != nil {
			first = worse(first, fmt.Errorf("%s: %w", sanitize.Text(r.Name), r.Err))
		}
		f.print(cmd, r)
	}
	s, err := immich.NewLibrary(client, journal).Annotate(cmd.Context(), x, o)
	f.summary(cmd, s)
	if err != nil {
		return err
	}
	return partly(s.Failed, s.Failed+s.Done, first)
}

// print prints a result. It sanitises names, because they come from the server.
func (f *immichFlags) print(cmd *cobra.Command, r immich.Result) {
	out := cmd.OutOrStdout()
	switch {
	case f.asJSON:
		line := struct {
			immich.Result
			Error string `json:"error,omitempty"`
		}{Result: r}
		if r.Err != nil {
			line.Error = r.Err.Error()
		}
		_ = writeLine(out, line) // package stdout reports write errors at the end
	case r.Err != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", sanitize.Text(r.Name), r.Err)
	case len(r.Tags) > 0:
		tags := make([]string, len(r.Tags))
		for i, t := range r.Tags {
			tags[i] = sanitize.Text(t)
		}
		fmt.Fprintf(out, "%s  %s\n", sanitize.Text(r.Name), strings.Join(tags, " "))
	}
}

func (f *immichFlags) summary(cmd *cobra.Command, s immich.Summary) {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.asJSON {
		_ = writeLine(out, s)
		return
	}
	fmt.Fprintf(out, "%s %s with %s, %s known\n", either(f.dryRun, "would tag", "tagged"), photosOf(s.Done), counted(s.Tags, "tag"), were(s.Known))
	if s.Foreign > 0 {
		fmt.Fprintf(notes, "note: %s of other people, which only they can tag\n", photosOf(s.Foreign))
	}
	if s.Tags > 0 && s.Run != "" {
		next(cmd, "cpar immich undo %s takes them off; cpar immich check, after Immich has read files again, puts them back", s.Run)
	}
}

func were(n int) string {
	if n == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", n)
}

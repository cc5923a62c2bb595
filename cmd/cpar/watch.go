package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cmd/cpar/internal/pause"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/photo/arrival"
	"cpar/photo/metadata"
	"cpar/photo/video"
	"cpar/user/device"
	"cpar/user/library"
)

type watchFlags struct {
	ask           programFlags
	place         placeFlags
	settle, every time.Duration
	poll          bool
	onlyOnPower   bool
	hours         string
	install       string
	asJSON        bool

	limits  pause.Limits
	arrival *arrival.Watcher
	status  *watchStatus
	failed  map[string]bool // by path, whether the last try of a photo failed
}

// watched is the JSON output of watch, which counts photos since its start.
type watched struct {
	Seen    int `json:"seen"`
	Written int `json:"written"`
	Failed  int `json:"failed"`
}

func watchCommand() *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "watch FOLDER…",
		Short: "annotate new photos as they arrive",
		Long: `watch annotates photos as they arrive in folders, as cpar annotate --write does, until ^C
ends it, and then prints how many. It writes sidecars or, with --write embedded, into JPEG
files. It begins with the photos that are there, except those that this device has
annotated before.

A photo is annotated once it has settled: the size and time of its files have not changed
for some seconds (--settle), and a JPEG file has its end. No photo is annotated twice, even
if watch is killed and restarted, the index changes or the run is undone. The photos of a
burst form one run (cpar runs, cpar undo). A photo that cannot be written is tried again.

The cloud sees when photos arrive and how many, as it does with cpar annotate. It does not
see how many keywords were written, because requests never wait for writing.

watch reacts to events of the file system. On network drives, whose events do not
report changes by other machines, it looks at the folders every minute (--every), as --poll
does anywhere. --only-on-power and --hours make photos wait.

--install prints how to start watch with your session: a systemd user unit, a launch agent
of macOS or a scheduled task of Windows. It installs nothing. cpar doctor shows the state
of each watch. Without --verbose, no photo or keyword appears in the log.`,
		Example: `  $ cpar watch photos/ --hours 22-6 --only-on-power
  2026-07-12 22:03  wrote 41 words for 12 photos into 12 files
  ^C
  13 photos seen, 12 written, 1 failed

  $ cpar watch photos/ --install > ~/.config/systemd/user/cpar-watch.service`,
		Args: someArgs("a folder of photos"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.ask.add(c)
	f.place.add(c, string(metadata.Sidecar), "where to write keywords: sidecar or embedded")
	c.Flags().DurationVar(&f.settle, "settle", 5*time.Second, "time for which a photo must stay unchanged")
	c.Flags().DurationVar(&f.every, "every", time.Minute, "time between two looks at folders that are polled")
	c.Flags().BoolVar(&f.poll, "poll", false, "look at the folders regularly and do not rely on events (automatic on network drives)")
	c.Flags().BoolVar(&f.onlyOnPower, "only-on-power", false, "annotate only on mains power")
	c.Flags().StringVar(&f.hours, "hours", "", "annotate only during this part of the day, such as 22-6 or 22:30-6:15")
	c.Flags().StringVar(&f.install, "install", "", "print how to start watch with your session: `systemd`, launchd or task (default: as this system does)")
	c.Flags().Lookup("install").NoOptDefVal = serviceHere
	jsonFlag(c, &f.asJSON)
	c.Flags().Lookup("json").Usage = "print the numbers of photos at the end as JSON, and everything else to standard error"
	return c
}

func (f *watchFlags) run(cmd *cobra.Command, args []string) (err error) {
	if err := f.check(cmd); err != nil {
		return err
	}
	if f.install != "" {
		return f.printService(cmd, args)
	}
	for _, folder := range args { // otherwise cpar would wait forever for photos in a misspelt folder
		if _, err := os.Stat(folder); err != nil {
			return fmt.Errorf("looking for photos: %w: %s: %w", cpar.ErrInput, sanitize.Text(folder), photo.Cause(err))
		}
	}
	a, err := f.ask.asker(cmd)
	if err != nil {
		return err
	}
	l, err := library.Open(a.key, a.this)
	if err != nil {
		return err
	}
	if f.status, err = openWatchStatus(a.this, args); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if f.asJSON {
		cmd.SetOut(cmd.ErrOrStderr())
	}
	f.watch(cmd, args)
	defer f.arrival.Close()
	go f.tellEmpty(cmd)
	follower := f.follower(cmd, args, l, a)
	err = follower.Run(cmd.Context())
	if cmd.Context().Err() != nil {
		err = nil // ^C is the usual way to end watch
	}
	f.status.close(err)
	cmd.SetOut(out)
	t := watched{Seen: len(f.failed), Written: f.status.state.Photos}
	for _, failed := range f.failed {
		if failed {
			t.Failed++
		}
	}
	return cmp.Or(err, output(cmd, f.asJSON, t, func() {
		fmt.Fprintf(out, "%s seen, %d written, %d failed\n", photosOf(t.Seen), t.Written, t.Failed)
	}))
}

func (f *watchFlags) check(cmd *cobra.Command) (err error) {
	if err := f.ask.check(cmd); err != nil {
		return err
	}
	if err := f.place.parse(string(metadata.Sidecar), string(metadata.Embedded)); err != nil {
		return err
	}
	if f.hours != "" {
		if f.limits.Hours, err = pause.ParseHours(f.hours); err != nil {
			return hint.Add(exitcode.UsageError(fmt.Errorf("--hours %s: %w", sanitize.Text(f.hours), err)), "write 22-6 or 22:30-6:15")
		}
	}
	if f.settle <= 0 || f.every <= 0 {
		return usageOf("--settle and --every must be positive, such as 5s or 1m")
	}
	f.limits.OnlyOnPower = f.onlyOnPower
	return nil
}

func (f *watchFlags) watch(cmd *cobra.Command, folders []string) {
	o := arrival.Options{Settle: f.settle, Every: f.every, Poll: f.poll, List: photo.Options{Exclude: f.place.exclude, Videos: video.Available()}}
	for _, folder := range folders {
		o.Poll = o.Poll || arrival.Remote(folder)
	}
	o.Note = func(err error) { f.problem(cmd, fmt.Errorf("looking for photos: %w", err)) }
	f.arrival = arrival.New(folders, o)
	how := "by the events of the file system"
	if f.arrival.Polls() {
		how = "every " + o.Every.String()
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "watching %s %s; ^C ends it\n", counted(len(folders), "folder"), how)
	there := 0
	if l, _ := photo.List(cmd.Context(), folders, o.List); l != nil { // the watcher reports folders that cannot be read
		there = len(l.Photos)
	}
	into := "sidecars"
	if f.place.to == string(metadata.Embedded) {
		into = "JPEG files"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "it begins with the %s that are there, without those annotated before, and writes keywords into %s; cpar undo takes a run back\n", photosOf(there), into)
}

func (f *watchFlags) follower(cmd *cobra.Command, args []string, l *library.Library, a asker) *library.Follower {
	o := library.Options{Where: metadata.Where(f.place.to), Style: metadata.Style(f.place.style), KeepMtime: f.place.keepTime,
		MaxKeywords: f.ask.ranking.MaxKeywords, Ranker: f.ask.ranking.Ranker, Command: commandLine(cmd, args),
		Everything: f.ask.ranking.MaxKeywords > library.MostKept}
	w := &library.Follower{Library: l, Options: o, Next: f.arrival.Next, Retry: f.arrival.Retry}
	w.Open = func(ctx context.Context) (*device.Index, error) {
		x, err := f.ask.openIndex(cmd, &a)
		w.Options.MinProbability = f.ask.ranking.MinProbability
		return x, err
	}
	w.Pause = func(ctx context.Context, photos int) error {
		for {
			why := f.limits.Why(time.Now())
			f.status.set(func(s *watchState) { s.Rests, s.Waiting = why, photos+f.arrival.Waiting() })
			if why == "" {
				return ctx.Err()
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Minute):
			}
		}
	}
	f.failed = map[string]bool{}
	told := false
	w.Each = func(r library.Result) {
		f.printResult(cmd, r)
		if r.Undone && !told {
			told = true
			folders := ""
			for _, folder := range args {
				folders += " " + shellWord(folder)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "note: photos whose run was undone are left out; cpar annotate%s --write %s annotates them\n", folders, f.place.to)
		}
	}
	w.Batch = func(sum library.Summary) {
		f.status.set(func(s *watchState) {
			s.Photos += sum.Written
			s.Failed, s.Waiting, s.Last, s.Problem = sum.Failed, f.arrival.Waiting(), time.Now(), ""
		})
		if sum.Files > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s  wrote %s for %s into %s\n", time.Now().Format("2006-01-02 15:04"),
				counted(sum.Keywords, "word"), photosOf(sum.Written), counted(sum.Files, "file"))
		}
	}
	w.Problem = func(err error) { f.problem(cmd, err) }
	return w
}

func (f *watchFlags) printResult(cmd *cobra.Command, r library.Result) {
	f.failed[r.Path] = r.Err != nil
	switch {
	case r.Err != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", sanitize.Text(r.Path), r.Err)
	case verbose(cmd) && len(r.Files) > 0:
		fmt.Fprintln(cmd.OutOrStdout(), sanitize.Text(r.Path))
		printKeywords(cmd, r.Keywords, "")
	}
}

// tellEmpty reports photos that stay empty for a minute, each once, because
// watch waits for their content.
func (f *watchFlags) tellEmpty(cmd *cobra.Command) {
	told := map[string]bool{}
	for {
		select {
		case <-cmd.Context().Done():
			return
		case <-time.After(time.Minute):
		}
		for _, path := range f.arrival.Empty(time.Now().Add(-time.Minute)) {
			if !told[path] {
				told[path] = true
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: the file is empty; it waits for its content\n", sanitize.Text(path))
			}
		}
	}
}

func (f *watchFlags) problem(cmd *cobra.Command, err error) {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s  %v\n", time.Now().Format("2006-01-02 15:04"), err)
	f.status.set(func(s *watchState) { s.Problem = err.Error() })
}

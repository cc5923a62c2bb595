package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/album"
	"cpar/user/device"
	"cpar/user/library"
	"cpar/user/ui"
)

type uiFlags struct {
	askFlags
	search searchFlags
	write  placeFlags
	page   ui.LibraryOptions
	words  wordsFlags
	port   int
	open   bool
	dryRun bool
	asJSON bool

	album    bool
	prefetch []int
}

func uiCommand() *cobra.Command {
	var f uiFlags
	c := &cobra.Command{
		Use:   "ui FOLDER… | ui --album",
		Short: "review photos and keywords in your browser",
		Long: `ui serves a page to your own browser: your photos, the suggested keywords with their
probabilities, the photos of your collection that gave them, and the cloud's view. You
accept, reject and add keywords with the keyboard or the mouse and write them where photo
programs find them: photo by photo, or word by word for all photos at once. Every write is
one run, which the page or cpar undo reverts. Likely keywords are those that cpar annotate
--write would write. A photo dropped onto the page is found in the folders by its content.
If it is in none of them, its sidecar can be downloaded.

Nothing is sent or written until you say so. Keywords that you accept or add are yours, and
the next cpar add learns from them. Rejected keywords are not suggested again.

The page is part of this program and loads nothing from a network. It listens only on
127.0.0.1. The printed address ends in a secret, which the page removes from the address
bar at once. Anyone with the secret can see the photos below the folders, write keywords
and change the vocabulary, so do not pass it on. ^C ends the page, and then the secret is
worthless.

--album shows the album of cpar album instead of folders: a timeline with search, which
runs on this device, and the keywords, which you can edit for many photos at once. The
cloud sees which encrypted part of thumbnails is fetched when you first look at a month.
--prefetch fetches the parts of whole years in advance, which hides this. With --index,
Enter also finds photos that look like the words, tagged or not, and each photo offers a
search for others like it. The cloud sees that you search, but neither the words nor the
results.

Without photos that have keywords, --own-words shows words of the image network's own
vocabulary. It needs neither an index nor a cloud. Writing needs a key (cpar init).`,
		Example: `  $ cpar ui photos/ --cloud http://127.0.0.1:8080
  open http://127.0.0.1:41873/#token=…
  end with ^C`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.album {
				return noArgs(cmd, args)
			}
			return someArgs("a folder of photos, or --album")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.askFlags.add(c)
	f.write.add(c, string(metadata.Sidecar), "where to write keywords: sidecar, or embedded in JPEG files")
	f.words.add(c)
	c.Flags().IntVar(&f.port, "port", 0, "port of the page, 0 for any free port")
	c.Flags().BoolVar(&f.album, "album", false, "show the album instead of folders")
	c.Flags().IntSliceVar(&f.prefetch, "prefetch", nil, "`years` whose thumbnails of the album to fetch first")
	c.Flags().BoolVar(&f.open, "open", false, "open the page in your browser")
	return writerFlags(c, &f.dryRun, &f.asJSON)
}

// parse checks the flags. It is called before the user types a passphrase.
func (f *uiFlags) parse(cmd *cobra.Command, folders []string) error {
	if err := f.write.parse(string(metadata.Sidecar), string(metadata.Embedded)); err != nil {
		return err
	}
	f.page.Where, f.page.Style = metadata.Where(f.write.to), metadata.Style(f.write.style)
	f.page.KeepMtime, f.page.List.Exclude = f.write.keepTime, f.write.exclude
	if len(f.prefetch) > 0 && !f.album {
		return usageOf("--prefetch needs --album")
	}
	if f.album && f.words.own {
		return usageOf("--album and --own-words exclude each other")
	}
	if f.port < 0 || f.port > 65535 {
		return exitcode.UsageError(fmt.Errorf("--port %d; ports are 0 to 65535", f.port))
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return hint.Add(fmt.Errorf("opening %s: %w: there is no such folder", sanitize.Text(folder), cpar.ErrInput), "name folders; a single photo can be dropped onto the page")
		}
	}
	f.search.approx = usualApprox // so that cpar ui gives the same answers as cpar annotate
	if err := f.search.parse(); err != nil {
		return err
	}
	if err := f.check(cmd); err != nil || !f.words.own {
		return err
	}
	return f.words.parse(cmd, &f.model, false)
}

func (f *uiFlags) run(cmd *cobra.Command, folders []string) error {
	if err := f.parse(cmd, folders); err != nil {
		return err
	}
	if f.album {
		return f.ofAlbum(cmd)
	}
	if f.dryRun {
		return f.wouldServe(cmd, folders)
	}
	f.page.Folders = folders
	open := f.indexed
	if f.words.own {
		open = f.ownWords
	}
	owner, err := open(cmd)
	if err != nil {
		return err
	}
	return f.serve(cmd, ui.Options{Folders: f.page.Folders, Backend: owner})
}

// ofAlbum serves the page of an album. It begins with this device's copy, and the
// page asks for what other devices have changed.
func (f *uiFlags) ofAlbum(cmd *cobra.Command) error {
	opening := albumFlags{keys: f.keys, cloud: f.cloud, cmd: cmd}
	a, err := opening.open(len(f.prefetch) > 0)
	if err == nil && f.dryRun {
		n := a.Usage().Photos
		return output(cmd, f.asJSON, map[string]any{"photos": n, "dry_run": true}, func() {
			fmt.Fprintf(cmd.OutOrStdout(), "would show %s of the album on a page of this machine; nothing was done\n", photosOf(n))
		})
	}
	if err == nil {
		err = a.Prefetch(cmd.Context(), f.prefetch, bar.On(cmd.ErrOrStderr()))
	}
	if err != nil {
		return err
	}
	search := albumSearchFlags{albumFlags: opening, index: f.cloud.index}
	v, err := search.vocabulary()
	if err != nil {
		return err
	}
	o := ui.Options{Cloud: f.cloud.url, Related: v.Related}
	if f.cloud.index != "" {
		if o.Seeker, err = f.seeker(cmd); err != nil {
			return err
		}
	}
	o.Album = album.NewLive(a)
	defer o.Album.Close(context.WithoutCancel(cmd.Context()))
	return f.serve(cmd, o)
}

// seeker returns a search by likeness that sends nothing before its first use.
func (f *uiFlags) seeker(cmd *cobra.Command) (ui.Seeker, error) {
	like := likeFlags{askFlags: f.askFlags, half: f.words}
	if err := like.half.findHalf(); err != nil {
		return nil, err
	}
	a, err := like.asker(cmd)
	return &ui.Index{Open: a.open, Prepare: func(ctx context.Context, words string, file []byte) (func(*user.Owner) (*user.Search, error), error) {
		if words != "" {
			return like.words(ctx, &a, words)
		}
		return like.photo(file, cmd.ErrOrStderr()), nil
	}}, err
}

func (f *uiFlags) indexed(cmd *cobra.Command) (ui.Backend, error) {
	a, err := f.asker(cmd)
	if err != nil {
		return nil, err
	}
	x, err := a.open(cmd.Context(), func(o *user.Owner) error {
		f.page.Threshold, f.page.ThresholdOf = f.likely.minProbability(o), o.Threshold
		if !f.likely.set {
			f.page.Right = f.likely.share
		}
		_, err := f.model.forOwner(o, cmd.ErrOrStderr())
		return err
	})
	if err != nil {
		return nil, err
	}
	l, err := library.Open(a.key, a.this)
	if err != nil {
		return nil, err
	}
	f.page.Cloud, f.page.Key, f.page.Device, f.page.Client = a.client.URL(), a.key, a.this, a.client
	f.page.Params = func(x *device.Index) (cpar.Params, error) {
		return f.search.params(x.Manifest, x.Ranker().Neighbours())
	}
	return ui.NewLibraryBackend(l, x, f.page), nil
}

func (f *uiFlags) serve(cmd *cobra.Command, o ui.Options) (err error) {
	opened := ""
	defer func() {
		if opened != "" {
			os.RemoveAll(opened)
		}
	}()
	o.Port = f.port
	o.Ready = func(address string) error {
		err := output(cmd, f.asJSON, struct {
			Address string `json:"address"`
		}{address}, func() { fmt.Fprintf(cmd.OutOrStdout(), "open %s\nend with ^C\n", address) })
		if err != nil || !f.open {
			return err
		}
		if opened, err = openBrowser(address); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %v; open the address yourself\n", err)
		}
		return nil
	}
	return ui.Serve(cmd.Context(), o)
}

func (f *uiFlags) wouldServe(cmd *cobra.Command, folders []string) error {
	list, err := findPhotos(cmd, folders, photo.Options{Exclude: f.page.List.Exclude})
	if err != nil {
		return err
	}
	return output(cmd, f.asJSON, map[string]any{"photos": len(list), "dry_run": true}, func() {
		fmt.Fprintf(cmd.OutOrStdout(), "would show %s on a page of this machine; nothing was done\n", photosOf(len(list)))
	})
}

var errNoBrowser = errors.New("no browser could be opened")

// openBrowser opens an address in the system's browser. All users of the
// machine can see arguments, so the argument is a private file that redirects
// to the address. Result `dir` is the folder of that file.
func openBrowser(address string) (dir string, err error) {
	dir, err = os.MkdirTemp("", "cpar-ui-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "open.html")
	page := fmt.Sprintf("<!doctype html><meta charset=utf-8><title>cpar</title><meta http-equiv=refresh content=\"0;url=%s\">\n", html.EscapeString(address))
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return dir, err
	}
	command := []string{"xdg-open", file}
	switch runtime.GOOS {
	case "darwin":
		command[0] = "open"
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", file}
	}
	opener := exec.Command(command[0], command[1:]...)
	if err := opener.Start(); err != nil {
		return dir, fmt.Errorf("%w: %w", errNoBrowser, err)
	}
	go opener.Wait()
	return dir, nil
}

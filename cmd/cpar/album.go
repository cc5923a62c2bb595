package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/user/album"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/query"
	"cpar/user/vocabulary"
)

const queries = `A query consists of words, which must all apply:

  dog beach 2024 -party     keywords dog and beach, taken in 2024, without party
  beach* "old town"         beginnings of keywords, and phrases
  (dog or cat) not indoors  or, not, and parentheses
  2023..2024-05             ranges of years, months or days
  folder:photos/sea         photos below a folder
  camera:canon              a part of the camera's name
  place:48.1,11.6~20        within 20 km of a place
  name:img_17               a part of the file's name
  path:photos/a.jpg         exactly this photo`

func albumCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "album",
		Short: "keep photos encrypted in the cloud, and search them",
		Long: `album keeps your photos, with their sidecars, at a cloud that cannot see them. A catalogue
of keywords, dates, cameras and places is kept there too, encrypted, and on your devices,
where it is searched. The cloud sees nothing of a search.

The album belongs to your key: any device with the key file opens it. Photos are stored
in the format of kopia (kopia.io), so that you can read them without cpar.`,
	}, albumAdd(), albumSearch(), albumList(), albumGet(), albumRemove(), albumTrash(), albumRestore(), albumVerify(), albumDu(), albumKopia(), albumMaintain(), albumCard())
}

// albumFlags are the common flags of the commands under album.
type albumFlags struct {
	keys   keyFlags
	cloud  cloudFlags
	cmd    *cobra.Command
	asJSON bool
}

func (f *albumFlags) add(c *cobra.Command) *cobra.Command {
	f.cmd = c
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error { return tellConflict(cmd, f.asJSON, run(cmd, args)) }
	f.keys.add(c)
	f.cloud.add(c)
	return jsonFlag(c, &f.asJSON)
}

// open opens the album. If fresh is false, open sends a request to the cloud only
// if this device has no copy of the catalogue.
func (f *albumFlags) open(fresh bool) (*album.Album, error) {
	a, err := f.copy()
	if err == nil && (fresh || !a.Known()) {
		err = a.Sync(f.cmd.Context())
	}
	return a, err
}

// copy opens this device's copy of the album without a request to the cloud.
func (f *albumFlags) copy() (*album.Album, error) {
	client, err := f.cloud.client()
	if err != nil {
		return nil, err
	}
	key, this, err := f.keys.read()
	if err != nil {
		return nil, err
	}
	store := blobs.Cloud{Client: client, Album: album.ID(key)}
	return album.Open(f.cmd.Context(), album.Options{Store: store, Key: key, Device: this, Others: store.Others})
}

// tellConflict prints the photos that vanish if err is a conflict with the state
// that the cloud shows.
func tellConflict(cmd *cobra.Command, asJSON bool, err error) error {
	if c := new(album.Conflict); errors.As(err, &c) {
		d := album.Difference{Vanished: append([]string{}, c.Vanished...), Changed: append([]string{}, c.Changed...)}
		err = errors.Join(err, output(cmd, asJSON, d, func() { printDifference(cmd, d) }))
	}
	return err
}

func printDifference(cmd *cobra.Command, d album.Difference) {
	printSome(cmd, d.Vanished, func(path string) string { return "vanishes: " + sanitize.Text(path) })
	printSome(cmd, d.Changed, func(path string) string { return "is different: " + sanitize.Text(path) })
}

// found opens the album and returns the photos that the words of a query find.
func (f *albumFlags) found(words []string, fresh, trash bool, v *vocabulary.Vocabulary) (*album.Album, query.Query, []*catalogue.Photo, error) {
	q, err := query.Parse(strings.Join(words, " "), v.Related)
	if err != nil {
		return nil, q, nil, err
	}
	a, err := f.open(fresh)
	if err != nil {
		return nil, q, nil, err
	}
	return a, q, a.Find(q, trash), nil
}

// placeDigits maps the values of --places to decimals of a degree.
var placeDigits = map[string]int{"none": -1, "10km": 1, "1km": 2, "100m": 3, "exact": 5}

type albumAddFlags struct {
	albumFlags
	o      album.AddOptions
	places string
}

func albumAdd() *cobra.Command {
	var f albumAddFlags
	c := f.add(&cobra.Command{
		Use:   "add PHOTO…",
		Short: "encrypt photos and send them to the album",
		Long: `add sends photos and folders to the album, with their sidecars, encrypted. Photos that the
album has are not sent again, so an interrupted run continues where it stopped. A photo
that has changed becomes a new version, and the older one goes to the trash. A photo that
you delete on this device stays in the album until cpar album remove removes it.

A photo's path in the album begins with the name of the folder that you pass. --into names
another folder. --places rounds the coordinates in the catalogue. The photos themselves
are kept byte for byte. add also makes thumbnails and digests for search --like, also for
photos that an older cpar added without them.

Photos that cannot be read are named and left out, and the exit code is 3. Videos are
counted and left out. If some of several folders have no photos, they are named, and the
exit code is 0.

--check reads all photos again and sends those that the cloud has lost or damaged. Damage
that the cloud hides must first be found by cpar album verify --read-data. --check also
makes lost thumbnails again and rebuilds a lost index.`,
		Example: `  $ cpar album add photos/
  added 5000 photos (212 MB): sent 213 MB
  $ cpar album add photos/
  added 0 photos (0 B), 5000 were there: sent 0 B`,
		Args: someArgs("a photo, or a folder of photos"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(args) },
	})
	c.Flags().StringVar(&f.o.Into, "into", "", "`folder` of the album for the photos (default: the name of their folder)")
	c.Flags().StringSliceVar(&f.o.Exclude, "exclude", nil, "`patterns` of photos to leave out")
	c.Flags().StringVar(&f.places, "places", "1km", "how places are rounded in the catalogue: none, 10km, 1km, 100m or exact")
	c.Flags().BoolVar(&f.o.Check, "check", false, "read all photos again, not only those of another size or time, and send again what the cloud has lost")
	c.Flags().BoolVar(&f.o.New, "new", false, "begin a new album although the cloud has one of another key")
	dryRunFlag(c, &f.o.DryRun)
	return c
}

func (f *albumAddFlags) run(paths []string) error {
	digits, ok := placeDigits[f.places]
	if !ok {
		return usageOf(fmt.Sprintf("--places %s is none of none, 10km, 1km, 100m and exact", sanitize.Text(f.places)))
	}
	a, err := f.copy()
	if err != nil {
		return err
	}
	f.o.PlaceDigits, f.o.Progress = digits, bar.On(f.cmd.ErrOrStderr())
	f.o.Listed = func(l *photo.Listing) { tellListing(f.cmd, l) }
	sum, err := a.Add(f.cmd.Context(), paths, f.o)
	for _, w := range sum.Warnings {
		fmt.Fprintf(f.cmd.ErrOrStderr(), "warning: %s\n", sanitize.Text(w.Error()))
	}
	printSome(f.cmd, sum.LeftOut, func(l album.LeftOut) string {
		return fmt.Sprintf("left out %s: %s", sanitize.Text(l.Path), l.Why)
	})
	if err != nil {
		return err
	}
	for _, folder := range sum.Empty {
		fmt.Fprintf(f.cmd.ErrOrStderr(), "no photos in %s\n", sanitize.Text(folder))
	}
	sum.LeftOut, sum.Empty = append([]album.LeftOut{}, sum.LeftOut...), append([]string{}, sum.Empty...)
	err = output(f.cmd, f.asJSON, struct {
		album.Added
		DryRun bool `json:"dry_run"`
	}{sum, f.o.DryRun}, func() { f.print(f.cmd.OutOrStdout(), sum) })
	if err != nil || len(sum.LeftOut) == 0 {
		return err
	}
	return partly(len(sum.LeftOut), sum.Photos+sum.Versions+sum.Unchanged+sum.Mended+len(sum.LeftOut), fmt.Errorf("%s: %w", sanitize.Text(sum.LeftOut[0].Path), sum.LeftOut[0].Err))
}

func (f *albumAddFlags) print(out io.Writer, s album.Added) {
	fmt.Fprintf(out, "%s %s (%s)", either(f.o.DryRun, "would add", "added"), photosOf(s.Photos), size(uint64(s.Bytes)))
	if s.Versions > 0 {
		fmt.Fprintf(out, ", %s", counted(s.Versions, "new version"))
	}
	if s.Unchanged > 0 {
		fmt.Fprintf(out, ", %d were there", s.Unchanged)
	}
	if s.Mended > 0 {
		fmt.Fprintf(out, ", sent %s again that the cloud had lost", photosOf(s.Mended))
	}
	if s.Thumbnails > 0 {
		fmt.Fprintf(out, ", made %s", counted(s.Thumbnails, "missing thumbnail"))
	}
	if s.Digests > 0 {
		fmt.Fprintf(out, ", prepared %s for album search --like", photosOf(s.Digests))
	}
	if !f.o.DryRun {
		fmt.Fprintf(out, ": sent %s", size(uint64(s.Sent)))
		if s.Bytes > 0 && s.Sent < s.Bytes {
			fmt.Fprintf(out, ", because the album has %d %% already", 100-100*s.Sent/s.Bytes)
		}
	}
	fmt.Fprintln(out)
}

type albumRow struct {
	Path        string              `json:"path"`
	Bytes       int64               `json:"bytes"`
	Files       int                 `json:"files"`
	Taken       string              `json:"taken,omitempty"`
	Width       int                 `json:"width,omitempty"`
	Height      int                 `json:"height,omitempty"`
	Orientation int                 `json:"orientation,omitempty"`
	Camera      string              `json:"camera,omitempty"`
	Place       *[2]float64         `json:"place,omitempty"`
	Keywords    []catalogue.Keyword `json:"keywords"`
	Trashed     string              `json:"trashed,omitempty"`
}

func albumRows(photos []*catalogue.Photo) []albumRow {
	rows := []albumRow{}
	for _, p := range photos {
		r := albumRow{Path: p.Path(), Bytes: p.Size(), Files: len(p.Files), Width: p.Width, Height: p.Height,
			Orientation: int(p.Orientation), Camera: p.Camera, Keywords: append([]catalogue.Keyword{}, p.Keywords...)}
		if p.Time != 0 {
			r.Taken = time.Unix(p.Time, 0).UTC().Format("2006-01-02T15:04:05")
		}
		if p.Place != nil {
			r.Place = &[2]float64{float64(p.Place.Lat) / 1e5, float64(p.Place.Lon) / 1e5}
		}
		if p.Trashed != 0 {
			r.Trashed = time.Unix(0, p.Trashed).UTC().Format(time.RFC3339)
		}
		rows = append(rows, r)
	}
	return rows
}

func printRows(out io.Writer, rows []albumRow) {
	for _, r := range rows {
		fmt.Fprintln(out, r)
	}
}

func (r albumRow) String() string {
	var words []string
	for _, k := range r.Keywords {
		word := sanitize.Text(k.Word)
		if k.Source == catalogue.Suggested {
			word += "?"
		}
		words = append(words, word)
	}
	taken, _, _ := strings.Cut(r.Taken, "T")
	return strings.TrimRight(fmt.Sprintf("%s  %s  %s", sanitize.Text(r.Path), orDash(taken), strings.Join(words, ", ")), " ")
}

// An albumFolder sums up the photos of a folder of the album.
type albumFolder struct {
	Folder string `json:"folder"`
	Photos int    `json:"photos"`
	Bytes  int64  `json:"bytes"`
	First  string `json:"first,omitempty"`
	Last   string `json:"last,omitempty"`
}

func albumList() *cobra.Command {
	var f albumFlags
	return f.add(&cobra.Command{
		Use:   "list [QUERY]",
		Short: "list the folders of the album",
		Long:  "list fetches the catalogue and prints the folders of the photos that a query finds, or of all photos.\n\n" + queries,
		Example: `  $ cpar album list
  photos/2024  812 photos  3207 MB  2024-01-03 to 2024-12-31`,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, _, photos, err := f.found(args, true, false, &vocabulary.Vocabulary{})
			if err != nil {
				return err
			}
			all := []albumFolder{}
			for _, p := range photos { // sorted by folder
				if len(all) == 0 || all[len(all)-1].Folder != p.Folder {
					all = append(all, albumFolder{Folder: p.Folder})
				}
				s := &all[len(all)-1]
				s.Photos++
				s.Bytes += p.Size()
				if p.Time != 0 {
					day := time.Unix(p.Time, 0).UTC().Format(time.DateOnly)
					s.Last = max(s.Last, day)
					if s.First == "" || day < s.First {
						s.First = day
					}
				}
			}
			return output(cmd, f.asJSON, all, func() {
				for _, s := range all {
					fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s  %s to %s\n", sanitize.Text(s.Folder), photosOf(s.Photos), size(uint64(s.Bytes)), orDash(s.First), orDash(s.Last))
				}
			})
		},
	})
}

func albumGet() *cobra.Command {
	var f albumFlags
	var to string
	var dryRun bool
	c := f.add(&cobra.Command{
		Use:   "get QUERY --to FOLDER",
		Short: "write photos of the album into a folder",
		Long: `get writes the photos that a query finds, with their sidecars, byte for byte, below a
folder. Files that the folder has already stay, so an interrupted get continues. A
different file of the same name is never overwritten.

` + queries,
		Example: `  $ cpar album get 'folder:photos/2024 dog' --to dogs/
  wrote 12 photos, 18 files (61 MB)`,
		Args: someArgs("a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return missing(cmd, "--to FOLDER")
			}
			a, _, photos, err := f.found(args, true, false, &vocabulary.Vocabulary{})
			if err != nil {
				return err
			}
			if len(photos) == 0 {
				return fmt.Errorf("getting photos: %w: the query finds none", cpar.ErrInput)
			}
			got := album.Got{Photos: len(photos)}
			if !dryRun {
				if got, err = a.Get(cmd.Context(), photos, to, bar.On(cmd.ErrOrStderr())); err != nil {
					return err
				}
			}
			return output(cmd, f.asJSON, struct {
				album.Got
				DryRun bool `json:"dry_run"`
			}{got, dryRun}, func() {
				if dryRun {
					fmt.Fprintf(cmd.OutOrStdout(), "would write %s\n", photosOf(got.Photos))
					return
				}
				fmt.Fprintf(cmd.OutOrStdout(), "wrote %s, %s (%s)\n", photosOf(got.Photos), counted(got.Files, "file"), size(uint64(got.Bytes)))
			})
		},
	})
	c.Flags().StringVar(&to, "to", "", "`folder` for the photos")
	dryRunFlag(c, &dryRun)
	must(c.MarkFlagDirname("to"))
	return c
}

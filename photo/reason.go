package photo

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cpar/internal/sanitize"
)

type Reason string

const (
	Hidden     Reason = "hidden"
	Trash      Reason = "trash"
	Thumbnails Reason = "thumbnails"      // small copies made by a NAS or a program
	Excluded   Reason = "excluded"        // matches Options.Exclude
	Link       Reason = "link"            // link to a folder
	LinkTwice  Reason = "link to a photo" // link to a photo that is listed itself
	Video      Reason = "video"
	OtherKind  Reason = "not readable" // photo in a format that package decode does not support
	NotAPhoto  Reason = "not a photo"
	Unreadable Reason = "unreadable"
	Sidecar    Reason = "sidecar" // read with its photo
	System     Reason = "system"  // files of the operating system or of a collection
)

type reasonText struct {
	reason    Reason
	one, many string
	quiet     bool // omitted from the summary
}

// reasons is in the order of the summary, the most surprising first.
var reasons = []reasonText{
	{Unreadable, "file or folder unreadable", "files or folders unreadable", false},
	{OtherKind, "photo of a kind that is not read", "photos of a kind that is not read", false},
	{Video, "video", "videos", false},
	{NotAPhoto, "file that is not a photo", "files that are not photos", false},
	{Link, "link to a folder", "links to folders", false},
	{LinkTwice, "link to a photo that is listed itself", "links to photos that are listed themselves", false},
	{Excluded, "file or folder excluded", "files or folders excluded", false},
	{Hidden, "hidden file or folder", "hidden files or folders", false},
	{Trash, "trash folder", "trash folders", false},
	{Thumbnails, "folder of thumbnails", "folders of thumbnails", false},
	{Sidecar, "sidecar", "sidecars", true},
	{System, "file of the system", "files of the system", true},
}

func (r Reason) text() reasonText {
	if i := slices.IndexFunc(reasons, func(w reasonText) bool { return w.reason == r }); i >= 0 {
		return reasons[i]
	}
	return reasonText{one: string(r), many: string(r)}
}

// Quiet reports whether Summary omits the reason.
func (r Reason) Quiet() bool { return r.text().quiet }

// Summary counts the omissions, one line per reason, in text that is safe to
// print: "left out: 2 videos: a.mov, b.mts". Unreadable files are named with
// their cause. It returns "" if users expect every omission.
func (l *Listing) Summary() string {
	by := map[Reason][]Skipped{}
	for _, s := range l.Skipped {
		by[s.Reason] = append(by[s.Reason], s)
	}
	var lines []string
	for _, w := range reasons {
		all := by[w.reason]
		if len(all) == 0 || w.quiet {
			continue
		}
		line := fmt.Sprintf("left out: %d %s", len(all), w.many)
		if len(all) == 1 {
			line = "left out: 1 " + w.one
		}
		var details []string
		named := 5
		switch w.reason {
		case OtherKind:
			details = kindsOf(all)
		case Video:
			named = 3
			for _, s := range all {
				details = append(details, sanitize.Text(s.Path))
			}
		case Unreadable:
			for _, s := range all {
				details = append(details, sanitize.Text(s.Path)+" ("+sanitize.Text(s.Detail)+")")
			}
		}
		if more := len(details) - named; more > 0 {
			details = append(details[:named], fmt.Sprintf("and %d more", more))
		}
		if len(details) > 0 {
			line += ": " + strings.Join(details, ", ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func kindsOf(all []Skipped) (kinds []string) {
	for _, s := range all {
		if kind := extension(s.Path); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// These extensions and names are in lower case.
var (
	imageExtensions       = []string{".jpg", ".jpeg", ".heic", ".heif", ".tif", ".tiff", ".png", ".webp", ".gif", ".bmp"}
	rawExtensions         = []string{".dng", ".cr2", ".cr3", ".nef", ".arw", ".raf"}
	photoExtensions       = slices.Concat(imageExtensions, rawExtensions)
	unsupportedExtensions = []string{".avif", ".jxl", ".jp2", ".psd", ".psb", ".xcf", ".svg", ".orf", ".rw2", ".pef", ".srw", ".nrw",
		".3fr", ".x3f", ".iiq", ".erf", ".rwl", ".mrw", ".kdc", ".dcr", ".mef", ".mos", ".crw", ".sr2", ".srf", ".gpr", ".insp"}
	videoExtensions   = []string{".mp4", ".mov", ".m4v", ".avi", ".mkv", ".webm", ".mts", ".m2ts", ".mpg", ".mpeg", ".3gp", ".wmv", ".insv", ".lrv"}
	readVideos        = []string{".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi"} // package video reads them
	sidecarExtensions = []string{".xmp", ".pp3", ".dop", ".aae", ".thm", ".cos", ".vrd", ".nksc", ".on1", ".arp"}

	trashFolders     = []string{".dtrash", "$recycle.bin", "#recycle", "lost+found", ".trash", ".trashes"}
	thumbnailFolders = []string{"@eadir", ".thumbnails", ".thumbs"}
	systemFiles      = []string{".ds_store", "thumbs.db", "desktop.ini", ".nomedia", ".picasa.ini", "picasa.ini", "ehthumbs.db",
		"manifest.csv", "split.csv"} // files of package dataset
)

func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// IsPhoto reports whether the extension belongs to a supported photo format.
func IsPhoto(name string) bool { return slices.Contains(photoExtensions, extension(name)) }

func IsVideo(name string) bool { return slices.Contains(readVideos, extension(name)) }

func IsRaw(name string) bool { return slices.Contains(rawExtensions, extension(name)) }

// preference returns the rank of a file's format. The file of a shot with the
// lowest rank is decoded.
func preference(file string) int {
	if i := slices.Index(photoExtensions, extension(file)); i >= 0 {
		return i
	}
	return len(photoExtensions)
}

// classifyName returns the reason to leave out a name, or "" for photos and
// folders to enter.
func classifyName(name string, isFolder bool) Reason {
	low, end := strings.ToLower(name), extension(name)
	trash, _ := path.Match(".trash-*", low) // one folder per user of a disk
	switch {
	case isFolder && (trash || slices.Contains(trashFolders, low)):
		return Trash
	case isFolder && slices.Contains(thumbnailFolders, low):
		return Thumbnails
	case !isFolder && (slices.Contains(systemFiles, low) || strings.HasPrefix(name, "._")): // "._" begins macOS resource forks
		return System
	case strings.HasPrefix(name, "."):
		return Hidden
	case isFolder || slices.Contains(photoExtensions, end):
		return ""
	case slices.Contains(sidecarExtensions, end):
		return Sidecar
	case slices.Contains(videoExtensions, end):
		return Video
	case slices.Contains(unsupportedExtensions, end):
		return OtherKind
	}
	return NotAPhoto
}

package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cpar"
	"cpar/internal/sanitize"
	"cpar/photo"
)

type row struct {
	where    string // source of the row, such as "line 7" of manifest.csv (the header is line 1)
	name     string // relative, with slashes, cleaned
	keywords []string
}

func (r *reading) readManifest() error {
	f, err := openRegular(r.root, ManifestName)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.readManifestFrom(f)
}

func (r *reading) readManifestFrom(in io.Reader) error {
	firstLine := map[string]int{}
	return readTable(in, ManifestName, "keywords", r.Dir, func(line int, name, value string, bad *Warning) {
		// The key is in NFC, because a file system may treat two Unicode forms
		// of a name as the same.
		key := norm.NFC.String(name)
		switch first, dup := firstLine[key]; {
		case bad != nil:
			r.Warnings = append(r.Warnings, *bad)
		case dup:
			r.warn(Duplicate, name, "line %d, first on line %d", line, first)
		case r.annotate(name, fmt.Sprintf("line %d", line), []string{value}):
			firstLine[key] = line
		}
	})
}

// readTable reads a CSV file with the columns "path" and `column`. For every
// row it calls `each` with the name inside `dir` and the value, or with a
// warning. It returns an error if the file is not such a table.
func readTable(r io.Reader, file, column, dir string, each func(line int, name, value string, bad *Warning)) error {
	br := bufio.NewReaderSize(r, 1<<16)
	head, _ := br.Peek(3)
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		br.Discard(3)
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return inputError("save it as CSV in UTF-8", "%s is in UTF-16", file)
	}
	columns, pathAt, valueAt := 0, 0, 0
	err := eachRecord(br, file, func(line int, record []string, damage *csv.ParseError) (err error) {
		if columns == 0 {
			columns = len(record)
			pathAt, valueAt, err = findColumns(record, file, column)
			return err
		}
		if damage != nil {
			detail := damage.Err.Error()
			if damage.Line > line {
				detail = fmt.Sprintf("a quote opened here runs on to line %d: %v", damage.Line, damage.Err)
			}
			each(line, "", "", newWarning(Malformed, fmt.Sprintf("line %d", line), "%s", detail))
			return nil
		}
		name, bad := record[min(pathAt, len(record)-1)], checkRecord(record, columns, line)
		if bad == nil {
			name, bad = localName(name, dir, line)
		}
		each(line, name, record[min(valueAt, len(record)-1)], bad)
		return nil
	})
	if err == nil && columns == 0 {
		err = inputError(fmt.Sprintf("its first line must be: path,%s", column), "%s is empty", file)
	}
	return err
}

// eachRecord calls function `each` for every row of a CSV file. A malformed row
// does not affect others. A record is valid until `each` returns.
func eachRecord(r io.Reader, file string, each func(line int, record []string, damage *csv.ParseError) error) error {
	cr := csv.NewReader(r)
	cr.FieldsPerRecord = -1 // counted by the caller
	cr.ReuseRecord = true
	cr.TrimLeadingSpace = true
	for {
		record, err := cr.Read()
		var damage *csv.ParseError
		line := 0
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &damage):
			line = damage.StartLine
		case err != nil:
			return fmt.Errorf("reading %s: %w: %w", file, cpar.ErrInput, photo.Cause(err))
		default:
			line, _ = cr.FieldPos(0)
		}
		if err := each(line, record, damage); err != nil {
			return err
		}
	}
}

// checkRecord rejects a row that does not match the header or is not text.
func checkRecord(record []string, columns, line int) *Warning {
	name := fmt.Sprintf("line %d", line)
	for _, field := range record {
		if !utf8.ValidString(field) {
			return newWarning(Encoding, name, "%q", field)
		}
	}
	if len(record) > columns {
		return newWarning(Malformed, name, "%d columns where the header has %d (keywords are separated by %q)", len(record), columns, separator)
	}
	if len(record) < columns {
		return newWarning(Malformed, name, "%d columns where the header has %d", len(record), columns)
	}
	return nil
}

func findColumns(header []string, file, column string) (pathAt, valueAt int, err error) {
	names := make([]string, len(header))
	for i, h := range header {
		names[i] = strings.ToLower(strings.TrimSpace(h))
	}
	pathAt, valueAt = slices.Index(names, "path"), slices.Index(names, column)
	if pathAt >= 0 && valueAt >= 0 {
		return pathAt, valueAt, nil
	}
	line := sanitize.Text(strings.Join(header, ","))
	hint := fmt.Sprintf("its first line must be: path,%s", column)
	for _, wrong := range []string{";", "\t"} {
		if len(names) == 1 && strings.Contains(names[0], "path"+wrong) {
			hint = "columns are separated by commas, keywords by semicolons; export the table that way"
		}
	}
	if strings.Contains(line, `\r`) {
		hint = "lines must end in LF or CRLF, not in CR alone"
	}
	return 0, 0, inputError(hint, "%s has no header with the columns path and %s: it begins %s", file, column, line)
}

// localName converts a path of the manifest to a name inside the collection.
// Backslashes count as separators, because manifests from Windows are more
// common than file names with backslashes.
func localName(p, dir string, line int) (string, *Warning) {
	name := strings.ReplaceAll(strings.TrimSpace(p), `\`, "/")
	if name == "" {
		return "", newWarning(Malformed, fmt.Sprintf("line %d", line), "the path is empty")
	}
	if r, bad := firstForbidden(name); bad {
		return "", newWarning(Malformed, name, "line %d: the path contains the control character %U", line, r)
	}
	if native := filepath.FromSlash(name); filepath.IsAbs(native) {
		rel, err := filepath.Rel(dir, native)
		if err != nil {
			return "", newWarning(Outside, name, "line %d", line)
		}
		name = filepath.ToSlash(rel)
	}
	// Trim again, because "./ a" cleans to " a", and names must survive writing
	// and reading.
	name = strings.TrimSpace(path.Clean(name))
	drive := len(name) > 1 && name[1] == ':' && (len(name) == 2 || name[2] == '/')
	if drive || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return "", newWarning(Outside, p, "line %d", line)
	}
	if name == "." {
		return "", newWarning(Malformed, p, "line %d: the path is the collection itself", line)
	}
	return name, nil
}

// WriteManifest writes photos as a manifest.csv that Open reads back unchanged.
func WriteManifest(w io.Writer, items []Photo) error {
	cw := csv.NewWriter(w)
	cw.Write([]string{"path", "keywords"}) // cw.Error returns the first error
	for _, it := range items {
		if it.Name != strings.TrimSpace(it.Name) || strings.Contains(it.Name, `\`) {
			return fmt.Errorf("writing %s: %w: it cannot hold %q: names must not contain backslashes or begin or end with a space", ManifestName, cpar.ErrInput, it.Name)
		}
		cw.Write([]string{it.Name, strings.Join(it.Keywords, separator)})
	}
	cw.Flush()
	if err := cw.Error(); err != nil {
		return fmt.Errorf("writing %s: %w", ManifestName, err)
	}
	return nil
}

func WriteManifestFile(dir string, items []Photo) error {
	var b bytes.Buffer
	if err := WriteManifest(&b, items); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestName), b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w: %w", ManifestName, cpar.ErrStorage, err)
	}
	return nil
}

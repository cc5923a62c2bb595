package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cpar"
	"cpar/eval/measure"
	"cpar/internal/paper"
)

// A resultFolder holds plots, and tables as CSV. A missing table or row was not
// measured. A missing column is an error. Parameter `where` selects rows by
// pairs of a column and its required value.
type resultFolder struct {
	path string
	link string // path from a page to the folder
}

const notMeasured = "not measured"

func (f *resultFolder) have(tables ...string) bool {
	return !slices.ContainsFunc(tables, func(name string) bool {
		_, err := os.Stat(filepath.Join(f.path, name+".csv"))
		return err != nil
	})
}

func (f *resultFolder) table(name string, where []string) (*measure.Table, error) {
	file, err := os.Open(filepath.Join(f.path, name+".csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cpar.ErrStorage, err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("reading table %s: %w", name, errors.Join(cpar.ErrCorrupt, err))
	}
	t := &measure.Table{Name: name, Columns: rows[0], Rows: rows[1:]}
	for ; len(where) > 1; where = where[2:] {
		i, err := column(t, where[0], 0)
		if err != nil {
			return nil, err
		}
		t.Rows = slices.DeleteFunc(t.Rows, func(row []string) bool { return row[i] != where[1] })
	}
	return t, nil
}

// column returns the index of a column. At least `next` columns must follow it.
func column(t *measure.Table, name string, next int) (int, error) {
	i := slices.Index(t.Columns, name)
	if i < 0 || i+next >= len(t.Columns) {
		return 0, fmt.Errorf("table %s has no column %q followed by %d others, only %q", t.Name, name, next, t.Columns)
	}
	return i, nil
}

// values returns the values of a column and of the `next` columns, by row.
func (f *resultFolder) values(table, name string, next int, where []string) ([][]string, error) {
	t, err := f.table(table, where)
	if t == nil || err != nil {
		return nil, err
	}
	i, err := column(t, name, next)
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, row := range t.Rows {
		out = append(out, row[i:i+1+next])
	}
	return out, nil
}

// single returns the values of the only selected row, or notMeasured.
func (f *resultFolder) single(table, column string, next int, where []string) ([]string, error) {
	rows, err := f.values(table, column, next, where)
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0 || rows[0][0] == "":
		return []string{notMeasured}, nil
	case len(rows) > 1:
		return nil, fmt.Errorf("table %s has %d rows with %q", table, len(rows), where)
	}
	return rows[0], nil
}

func (f *resultFolder) cell(table, column string, where ...string) (string, error) {
	row, err := f.single(table, column, 0, where)
	return strings.Join(row, ""), err
}

// interval formats a value with its bounds, which are in the following two
// columns.
func (f *resultFolder) interval(table, column string, where ...string) (string, error) {
	row, err := f.single(table, column, 2, where)
	if len(row) < 3 {
		return notMeasured, err
	}
	return fmt.Sprintf("%s (%s to %s)", row[0], row[1], row[2]), nil
}

func (f *resultFolder) numbers(table, column string, where []string) ([]float64, error) {
	rows, err := f.values(table, column, 0, where)
	out := make([]float64, len(rows))
	for i, row := range rows {
		if out[i], err = strconv.ParseFloat(row[0], 64); err != nil {
			return nil, fmt.Errorf("table %s: %w: %w", table, cpar.ErrCorrupt, err)
		}
	}
	return out, err
}

func (f *resultFolder) span(table, column string, where ...string) (string, error) {
	values, err := f.numbers(table, column, where)
	if err != nil || len(values) == 0 {
		return notMeasured, err
	}
	low, high := paper.Digits(slices.Min(values)), paper.Digits(slices.Max(values))
	if low == high {
		return low, nil
	}
	return low + " to " + high, nil
}

func (f *resultFolder) markdown(table string, where ...string) (string, error) {
	t, err := f.table(table, where)
	if t == nil || err != nil {
		return notMeasured + "\n", err
	}
	return t.Markdown(), nil
}

package measure

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A Table presents a result as rows, for text and for the CSV file Name.
type Table struct {
	Name    string
	Title   string
	Columns []string
	Rows    [][]string
}

type Result interface{ Tables() []Table }

func (t *Table) WriteCSV(w io.Writer) error {
	if err := csv.NewWriter(w).WriteAll(append([][]string{t.Columns}, t.Rows...)); err != nil {
		return fmt.Errorf("writing table %s: %w", t.Name, err)
	}
	return nil
}

func (t *Table) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", t.Title)
	tab := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		for _, cell := range row {
			fmt.Fprintf(tab, "%s\t", cell)
		}
		fmt.Fprintln(tab)
	}
	return tab.Flush()
}

func PrintTables(w io.Writer, tables []Table) error {
	for i, t := range tables {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := t.Print(w); err != nil {
			return err
		}
	}
	return nil
}

// FormatDecimal rounds x to a number of decimal places and drops trailing
// zeros.
func FormatDecimal(x float64, digits int) string {
	return strconv.FormatFloat(RoundTo(x, digits), 'f', -1, 64)
}

// FormatNonZero is like FormatDecimal, but returns "" for 0, because 0 means
// not measured.
func FormatNonZero(x float64, digits int) string {
	if x == 0 {
		return ""
	}
	return FormatDecimal(x, digits)
}

func FormatInt[T ~int | ~int64 | ~uint32 | ~uint64](x T) string { return fmt.Sprint(x) }

// FormatSignificant formats x with three significant digits, or with more if
// its integer part has more.
func FormatSignificant(x float64) string {
	if x >= 100 || x == 0 {
		return FormatDecimal(x, 0)
	}
	return FormatDecimal(x, 2-int(math.Floor(math.Log10(math.Abs(x)))))
}

// FormatThousands formats 20000 as 20,000.
func FormatThousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (t *Table) Markdown() string {
	var b strings.Builder
	row := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	row(t.Columns)
	b.WriteString(strings.Repeat("|---", len(t.Columns)) + "|\n")
	for _, cells := range t.Rows {
		row(cells)
	}
	return b.String()
}

// Markdown returns sections of one table each.
func Markdown(tables ...Table) string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n%s", t.Title, t.Markdown())
	}
	return b.String()
}

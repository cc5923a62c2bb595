package settings

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cpar/internal/sanitize"
)

// A Shown is a setting as the command "config" prints it.
type Shown struct {
	Name        string   `json:"name"`
	Environment string   `json:"environment"`
	Value       []string `json:"value"` // empty if no source sets it and the command has no such flag
	From        string   `json:"from"`  // flag, environment, file or default

	none string
}

// Show returns the effective settings of a command and their origins. It first
// sets the command's flags, so that an invalid value is an error, as in the
// command itself.
func (t *Table) Show(c *cobra.Command, named string) ([]Shown, error) {
	given := map[string]bool{}
	c.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = true })
	found, err := t.Find(named)
	if err == nil {
		err = t.Apply(c, named)
	}
	if err != nil {
		return nil, err
	}
	var all []Shown
	for _, s := range t.Settings {
		x := Shown{Name: s.Name, Environment: t.Environment(s.Name), Value: []string{}, From: FromDefault, none: s.None}
		if v, ok := found[s.Name]; ok {
			x.Value, x.From = v.Values, v.From
		}
		if given[s.Name] {
			x.From = FromFlag
		}
		if f := c.Flags().Lookup(s.Name); f != nil {
			x.Value = valuesOf(f)
		}
		all = append(all, x)
	}
	return all, nil
}

func valuesOf(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return append([]string{}, list.GetSlice()...)
	}
	if text := f.Value.String(); text != "" {
		return []string{text}
	}
	return []string{}
}

func (t *Table) Print(w io.Writer, file string, all []Shown, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"file": file, "settings": all})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range all {
		value := sanitize.Text(strings.Join(x.Value, ", "))
		if len(x.Value) == 0 || x.From == FromDefault {
			value = x.none
		}
		fmt.Fprintf(table, "%s\t%s\t(%s)\n", x.Name, value, x.From)
	}
	err := table.Flush()
	if err == nil {
		where := "there is no configuration file"
		if file != "" {
			where = "the file is " + file
		}
		_, err = fmt.Fprintf(w, "\n%s\n", where)
	}
	return err
}

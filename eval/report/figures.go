package report

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"strings"
	"text/template"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/paper"
)

// figuresSource defines a template for each figure of a document.
//
//go:embed figures.tmpl
var figuresSource string

// marker matches a figure, such as <!--=found-30-->5<!--/-->.
var marker = regexp.MustCompile(`<!--=([a-z0-9-]+)-->[^<]*<!--/-->`)

func fillFile(path, file string) error {
	b, err := os.ReadFile(file)
	if err == nil {
		b, err = fillFigures(path, b)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cpar.ErrInput, err)
	}
	return durable.WriteFile(file, b, 0o644)
}

func fillFigures(path string, document []byte) ([]byte, error) {
	f := &resultFolder{path: path}
	t, err := template.New("figures").Funcs(f.functions()).Parse(figuresSource)
	if err != nil {
		return nil, err
	}
	var failed error
	filled := marker.ReplaceAllFunc(document, func(old []byte) []byte {
		name := marker.FindSubmatch(old)[1]
		var figure strings.Builder
		if err := t.ExecuteTemplate(&figure, string(name), paper.Values()); err != nil && failed == nil {
			failed = fmt.Errorf("figure %s: %w", name, err)
		}
		return fmt.Appendf(nil, "<!--=%s-->%s<!--/-->", name, strings.TrimSpace(figure.String()))
	})
	return filled, failed
}

package eval

import "fmt"

// Tables implements Result.
func (s *Sealed) Tables() []Table {
	quality := Table{Name: "sealed", Title: fmt.Sprintf("Scheme sealed on untouched images, n = %d: the same ten nearest as in the clear for %s %% of %d requests (local: %s %%)",
		s.Records, FormatDecimal(100*s.Top10Equal, 2), s.Requests, FormatDecimal(100*s.LocalEqual, 2)),
		Columns: []string{"method", "neighbours", "P %", "R %", "F1 %", "N+"}}
	for _, row := range s.Quality {
		quality.Rows = append(quality.Rows, []string{row.Scheme, FormatInt(row.Neighbours), FormatDecimal(row.P, 1), FormatDecimal(row.R, 1), FormatDecimal(row.F1, 1), FormatInt(row.Nplus)})
	}
	out := []Table{quality}
	if s.Cost != nil {
		out = append(out, s.Cost.table())
	}
	if len(s.Growth) > 0 {
		growth := Table{Name: "sealed-growth", Title: "Scheme sealed as it grows; the cloud on one core, the owner on all; memory of both together",
			Columns: []string{"n", "cloud ms", "owner: request ms", "owner: reply ms", "request kB", "reply kB", "hints MB", "index MB", "memory MB", "added in s"}}
		for _, r := range s.Growth {
			growth.Rows = append(growth.Rows, []string{FormatInt(r.Records), FormatDecimal(r.Cloud, 1), FormatDecimal(r.Encrypt, 1), FormatDecimal(r.Read, 1), FormatDecimal(float64(r.Request)/1e3, 0),
				FormatDecimal(float64(r.Reply)/1e3, 0), FormatDecimal(float64(r.Hints)/1e6, 1), FormatDecimal(float64(r.Index)/1e6, 0), FormatDecimal(r.PeakMB, 0), FormatNonZero(r.Add, 1)})
		}
		fits := Table{Name: "sealed-fits", Title: "Growth of scheme sealed: exponents of n", Columns: []string{"what", "exponent", "greatest factor off"}}
		for _, f := range s.Fits {
			fits.Rows = append(fits.Rows, []string{f.What, FormatDecimal(f.Exponent, 3), FormatDecimal(f.Deviation, 3)})
		}
		out = append(out, growth, fits)
	}
	if len(s.Transfers) > 0 {
		homes := Table{Name: "sealed-local", Title: "What crosses the wall in all, and what is kept at home: sealed beside local, in MB, computed from the measured sizes",
			Columns: []string{"n", "requests", "sealed, moved", "local, moved", "sealed, kept", "local, kept"}}
		for _, r := range s.Transfers {
			homes.Rows = append(homes.Rows, []string{FormatInt(r.Records), FormatInt(r.Requests), FormatDecimal(r.Sealed, 1), FormatDecimal(r.Local, 1), FormatDecimal(r.SealedStored, 1), FormatDecimal(r.LocalStored, 1)})
		}
		out = append(out, homes)
	}
	return out
}

func (c *SealedCost) table() Table {
	t := Table{Name: "sealed-cost", Title: fmt.Sprintf("What scheme sealed costs, n = %d", c.Records), Columns: []string{"what", "value", "unit"}}
	for _, row := range []struct {
		what  string
		value float64
		unit  string
	}{
		{"cloud, a request, one core", c.Cloud, "ms"}, {"capia in the same run", c.Capia, "ms"}, {"sealed over capia", c.OverCapia, ""},
		{"owner: a request of a vector", c.Encrypt, "ms"}, {"owner: reading and checking the reply", c.Read, "ms"},
		{"request", float64(c.Request) / 1e3, "kB"}, {"reply", float64(c.Reply) / 1e3, "kB"},
		{"profile, once, as in every scheme", float64(c.Profile) / 1e6, "MB"}, {"hints, once", float64(c.Hints) / 1e6, "MB"}, {"keyword table, once", float64(c.Table) / 1e6, "MB"},
		{"index", float64(c.Index) / 1e6, "MB"}, {"index of capia", float64(c.CapiaIndex) / 1e6, "MB"}, {"sealed over capia, bytes", float64(c.Index) / float64(c.CapiaIndex), ""},
		{"build, all cores", c.Build, "s"}, {"of it PCA", c.PCA, "s"}, {"peak memory of the build", c.PeakMB, "MB"},
		{"scheme local: index, once", float64(c.LocalIndex) / 1e6, "MB"}, {"scheme local: scan at home", c.LocalScan, "ms"},
	} {
		t.Rows = append(t.Rows, []string{row.what, FormatDecimal(row.value, 3), row.unit})
	}
	return t
}

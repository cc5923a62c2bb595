package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cpar"
	"cpar/cloud/remote"
	"cpar/cloud/store"
	"cpar/cloud/tenant"
	"cpar/internal/bearer"
	"cpar/internal/durable"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/settings"
)

type tenantFlags struct {
	o         options
	editor    tenant.Editor
	label     string
	scopes    []string
	limits    tenant.Limits
	grace     time.Duration
	tokenFile string
	keepData  bool
	yes       bool
	asJSON    bool
}

func newTenant() *cobra.Command {
	c := &cobra.Command{
		Use:   "tenant",
		Short: "add and remove tenants and their tokens",
		Long: `A tenant is one customer of a cloud with separate indexes, limits, and one or more tokens.
Tenants cannot detect each other. Once there has been a tenant, every request needs a token.
The tenants are in tenants.json in the data folder, which a running cpard reloads within a
second.

A token is random and stored as a hash, so it can be printed only once, by tenant add. Its
scopes limit its use of the tenant's data:

  annotate  search an index
  push      push an index, also to replace one
  delete    delete an index
  album     store, fetch and delete the photos of albums (cpard album undelete recovers them)
  admin     all of these, and read the storage used

Indexes in the data folder from before its first tenant belong to no tenant: push them again.`,
		Example: `  $ cpard tenant add anna --data ~/cpar-cloud --token-file anna.token
  $ cpard tenant list --data ~/cpar-cloud`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTenantAdd(), newTenantList(), newTenantLimit(), newTenantRotate(), newTenantRemove())
	return c
}

// add adds the flags of all tenant commands, and checks their values before a
// command runs. If `writes` is set, it also adds --dry-run.
func (f *tenantFlags) add(c *cobra.Command, writes bool) *cobra.Command {
	if writes {
		c.Flags().BoolVar(&f.editor.DryRun, "dry-run", false, "print what would be done, and write nothing")
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		f.editor.Data = f.o.Data
		if f.tokenFile != "" {
			if _, err := os.Lstat(f.tokenFile); err == nil {
				return f.tokenFileExists()
			}
			f.editor.Keep = f.keep
		}
		if err := needData(f.o.Data); err != nil {
			return err
		}
		return run(c, args)
	}
	return jsonFlag(addFlags(c, &f.o, "data", "store", "store-credentials"), &f.asJSON)
}

func (f *tenantFlags) tokenFileExists() error {
	return hint.Add(fmt.Errorf("keeping the token: %w: %s exists already", cpar.ErrInput, f.tokenFile), "name another file")
}

// keep writes a token into the file of --token-file, readable only by the user.
func (f *tenantFlags) keep(token bearer.Token) error {
	err := durable.WriteNew(durable.OS, f.tokenFile, []byte(token.Reveal()+"\n"), 0o600)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return f.tokenFileExists()
	}
	return fmt.Errorf("keeping the token: %w", err)
}

func (f *tenantFlags) tokenFileFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "write the token into this new `file`, readable only by you (default: print it)")
}

// limitFlags adds flags for limits. A limit without its flag keeps its value or
// default.
func (f *tenantFlags) limitFlags(fs *pflag.FlagSet) {
	fs.Var(limit(settings.Size(&f.limits.StorageBytes, "0"), &f.limits.StorageBytes), "storage", "maximum storage, such as 10GB, or none")
	fs.Var(limit(settings.Parsed("0", "number", func(s string) (err error) {
		f.limits.RequestsPerSecond, err = strconv.ParseFloat(s, 64)
		return err
	}), &f.limits.RequestsPerSecond), "rate", "maximum average requests per second, or none")
	count := func(to *int, name, what string) {
		fs.Var(limit(settings.Parsed("0", "number", func(s string) (err error) {
			*to, err = strconv.Atoi(s)
			return err
		}), to), name, what)
	}
	count(&f.limits.Burst, "burst", "maximum burst of requests beyond the rate, or none")
	count(&f.limits.Concurrent, "concurrent", "maximum concurrent requests, or none")
}

// limit returns a flag that accepts a number above 0 or "none". Parameter v
// parses a number into *to. The word "none" stores tenant.Unlimited there.
func limit[N int | int64 | float64](v pflag.Value, to *N) pflag.Value {
	return &limitValue{text: "the default", kind: v.Type(), set: func(s string) error {
		if s == "none" {
			*to = tenant.Unlimited
			return nil
		}
		if err := v.Set(s); err != nil {
			return errors.New("it is a number above 0, or none")
		}
		if *to <= 0 {
			return errors.New("it is above 0, or none")
		}
		return nil
	}}
}

type limitValue struct {
	text, kind string
	set        func(string) error
}

func (v *limitValue) String() string { return v.text }
func (v *limitValue) Type() string   { return v.kind }
func (v *limitValue) Set(s string) error {
	v.text = s
	return v.set(s)
}

func newTenantAdd() *cobra.Command {
	var f tenantFlags
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "add a tenant, or another token of a tenant",
		Long: `add makes a token, and the tenant if its name is new. Limits apply to the tenant. The token is
printed once, alone on standard output, or written into --token-file, which only you can read.
Pass it to the tenant over a safe channel. cpar reads it from a file or the environment (cpar
config --help). Give each device or program a token with its own --label, so that you can
revoke one without the others.`,
		Example: `  $ cpard tenant add anna --storage 20GB --token-file anna.token
  tenant anna (b1946ac92492d234) is new: 20 GB, 50 requests a second (200 at once), 16 at the same time
  token default may annotate,push,delete
  the token is in anna.token and cannot be printed again

  $ cpard tenant add anna --label phone --scopes annotate > phone.token`,
		Args: oneName,
		RunE: func(c *cobra.Command, args []string) error {
			scopes, err := tenant.ParseScopes(f.scopes)
			if err != nil {
				return exitcode.UsageError(err)
			}
			if err := store.CheckOurs(f.o.Data, remote.CacheName); err != nil {
				return fmt.Errorf("adding a tenant: %w", err)
			}
			made, err := f.editor.Add(c.Context(), args[0], f.label, scopes, f.limits)
			if err != nil {
				return err
			}
			return f.printToken(c, made)
		},
	}
	f.tokenFileFlag(c)
	f.limitFlags(c.Flags())
	c.Flags().StringVar(&f.label, "label", "default", "label of the token")
	c.Flags().StringSliceVar(&f.scopes, "scopes", []string{"annotate", "push", "delete"}, "scopes of the token: annotate, push, delete, album, admin")
	return f.add(c, true)
}

func newTenantRotate() *cobra.Command {
	var f tenantFlags
	c := &cobra.Command{
		Use:   "rotate NAME",
		Short: "replace a token",
		Long: `rotate makes a token with the scopes of an existing one. The old token ends after --grace, by
default at once. A token that has leaked must end at once.`,
		Example: "  $ cpard tenant rotate anna --label phone --grace 24h --token-file phone.token",
		Args:    oneName,
		RunE: func(c *cobra.Command, args []string) error {
			if f.grace < 0 {
				return exitcode.UsageError(fmt.Errorf("--grace %v; it must not be negative", f.grace))
			}
			made, err := f.editor.Rotate(c.Context(), args[0], f.label, f.grace)
			if err != nil {
				return err
			}
			return f.printToken(c, made)
		},
	}
	f.tokenFileFlag(c)
	c.Flags().StringVar(&f.label, "label", "", "label of the token, if the tenant has several")
	c.Flags().DurationVar(&f.grace, "grace", 0, "how long the old token stays valid, such as 24h")
	return f.add(c, true)
}

func newTenantLimit() *cobra.Command {
	var f tenantFlags
	c := &cobra.Command{
		Use:     "limit NAME",
		Short:   "change the limits of a tenant",
		Long:    `limit changes the named limits of a tenant and keeps the others. Stored data stays, too.`,
		Example: "  $ cpard tenant limit anna --storage 50GB --rate none",
		Args:    oneName,
		RunE: func(c *cobra.Command, args []string) error {
			if f.limits == (tenant.Limits{}) {
				return exitcode.UsageError(errors.New("which limit? there are --storage, --rate, --burst and --concurrent"))
			}
			t, err := f.editor.SetLimits(c.Context(), args[0], f.limits)
			if err != nil {
				return err
			}
			return f.print(c, newShownTenant(t, 0), func(w io.Writer) { fmt.Fprintf(w, "%stenant %s: %s\n", f.dryRunPrefix(), t.Name, limitsText(t)) })
		},
	}
	f.limitFlags(c.Flags())
	return f.add(c, true)
}

func (f *tenantFlags) dryRunPrefix() string {
	if f.editor.DryRun {
		return "dry run: "
	}
	return ""
}

// A shownTenant is a tenant in the output of list, without hashes of tokens.
type shownTenant struct {
	ID     string        `json:"id"`
	Name   string        `json:"name"`
	Limits tenant.Limits `json:"limits"` // JSON omits unlimited members
	Stored int64         `json:"stored_bytes"`
	Tokens []shownToken  `json:"tokens"`
}

type shownToken struct {
	Label   string    `json:"label"`
	Scopes  []string  `json:"scopes"`
	Created time.Time `json:"created"`
	Until   time.Time `json:"until,omitzero"`
}

func newShownTenant(t tenant.Tenant, stored int64) shownTenant {
	s := shownTenant{ID: t.ID, Name: t.Name, Limits: t.Resolved(), Stored: stored, Tokens: []shownToken{}}
	for _, k := range t.Tokens {
		s.Tokens = append(s.Tokens, shownToken{k.Label, k.Scopes, k.Created, k.Until})
	}
	return s
}

// printToken prints the result of add or rotate: only the token on standard
// output, and notes on standard error.
func (f *tenantFlags) printToken(c *cobra.Command, made tenant.Issued) error {
	out := struct {
		shownTenant
		Label  string    `json:"label"`
		Token  string    `json:"token,omitempty"`
		File   string    `json:"token_file,omitempty"`
		Until  time.Time `json:"old_until,omitzero"`
		New    bool      `json:"new_tenant"`
		DryRun bool      `json:"dry_run"`
	}{newShownTenant(made.Tenant, 0), made.Label, made.Token.Reveal(), f.tokenFile, made.Until, made.New, f.editor.DryRun}
	if f.tokenFile != "" {
		out.Token = ""
	}
	if f.asJSON {
		return printAsJSON(c.OutOrStdout(), out)
	}
	w := c.ErrOrStderr()
	if made.New {
		fmt.Fprintf(w, "%stenant %s (%s) is new: %s\n", f.dryRunPrefix(), out.Name, out.ID, limitsText(made.Tenant))
	}
	token := made.Tenant.Tokens[len(made.Tenant.Tokens)-1]
	fmt.Fprintf(w, "%stoken %s may %s\n", f.dryRunPrefix(), token.Label, strings.Join(token.Scopes, ","))
	if !made.Until.IsZero() {
		fmt.Fprintf(w, "%sthe previous token ends at %s\n", f.dryRunPrefix(), made.Until.Format(time.RFC3339))
	}
	switch {
	case f.editor.DryRun:
	case f.tokenFile != "":
		fmt.Fprintf(w, "the token is in %s and cannot be printed again\n", f.tokenFile)
	default:
		fmt.Fprintln(w, "the token, which cannot be printed again:")
		fmt.Fprintln(c.OutOrStdout(), made.Token.Reveal())
	}
	return nil
}

func limitsText(t tenant.Tenant) string {
	l := t.Resolved()
	storage, rate, concurrent := "any number of bytes", "any number of requests a second", "any number at the same time"
	if l.StorageBytes > 0 {
		storage = humanize.Bytes(uint64(l.StorageBytes))
	}
	if l.RequestsPerSecond > 0 {
		rate = fmt.Sprintf("%v requests a second", l.RequestsPerSecond)
		if t.Burst != tenant.Unlimited {
			rate += fmt.Sprintf(" (%d at once)", l.Burst)
		}
	}
	if l.Concurrent > 0 {
		concurrent = fmt.Sprintf("%d at the same time", l.Concurrent)
	}
	return storage + ", " + rate + ", " + concurrent
}

func newTenantList() *cobra.Command {
	var f tenantFlags
	return f.add(&cobra.Command{
		Use:   "list",
		Short: "list tenants, their tokens and their stored data",
		Long: `list prints the tenants in a data folder, which may be served meanwhile. A token is printed as
its label and its scopes.`,
		Example: `  $ cpard tenant list --data ~/cpar-cloud
  TENANT  ID                STORED  LIMITS                                                              TOKENS
  anna    b1946ac92492d234  1.2 GB  10 GB, 50 requests a second (200 at once), 16 at the same time  default(annotate,push,delete)`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := os.Stat(f.o.Data); err != nil {
				return fmt.Errorf("listing tenants: %w: %w", cpar.ErrInput, err)
			}
			all, err := tenant.List(f.o.Data)
			if err != nil {
				return err
			}
			list := []shownTenant{}
			for _, t := range all {
				_, stored, err := f.stored(c.Context(), t.ID)
				if err != nil {
					return err
				}
				list = append(list, newShownTenant(t, stored))
			}
			return f.print(c, map[string]any{"tenants": list}, func(w io.Writer) {
				if len(list) == 0 {
					fmt.Fprintln(w, "no tenants")
					return
				}
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "TENANT\tID\tSTORED\tLIMITS\tTOKENS")
				for i, x := range list {
					var tokens []string
					for _, k := range x.Tokens {
						text := k.Label + "(" + strings.Join(k.Scopes, ",") + ")"
						if !k.Until.IsZero() {
							text += " until " + k.Until.Format(time.RFC3339)
						}
						tokens = append(tokens, text)
					}
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", x.Name, x.ID, humanize.Bytes(uint64(x.Stored)), limitsText(all[i]), strings.Join(tokens, " "))
				}
				t.Flush()
			})
		},
	}, false)
}

func (f *tenantFlags) print(c *cobra.Command, v any, text func(io.Writer)) error {
	if f.asJSON {
		return printAsJSON(c.OutOrStdout(), v)
	}
	text(c.OutOrStdout())
	return nil
}

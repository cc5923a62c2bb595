package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/interruptible"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/user"
	"cpar/user/device"
)

type deleteFlags struct {
	keys                keyFlags
	cloud               cloudFlags
	yes, dryRun, asJSON bool
}

// deleted is the JSON output of delete.
type deleted struct {
	device.ListedIndex
	Cloud string `json:"cloud"`
	// There reports whether the cloud had the index.
	There  bool `json:"there"`
	DryRun bool `json:"dry_run"`
}

func deleteCommand() *cobra.Command {
	var f deleteFlags
	c := &cobra.Command{
		Use:   "delete NAME|ID",
		Short: "delete an index at a cloud, and forget it on this device",
		Long: `delete asks a cloud to delete an index and removes this device's copies of it. Photos and
index folders stay. If the index was in use, none is in use afterwards, so the next index
is accepted without being named. This device remembers the deletion: if the cloud still
offers the index, it is used only if you name its id or push it again. A client cannot
verify that the cloud has really deleted it.

delete asks for confirmation. Without a terminal it needs --yes.`,
		Example: `  $ cpar delete family --cloud http://127.0.0.1:8080
  delete index family, 3a9d33fd4c9e228a4994b0d476c91826 (sealed, 4540 photos) at http://127.0.0.1:8080? type yes: yes
  deleted index family, 3a9d33fd4c9e228a4994b0d476c91826`,
		Args: oneArg("the name or id of an index"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.keys.add(c)
	f.cloud.add(c)
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	return writerFlags(c, &f.dryRun, &f.asJSON)
}

func (f *deleteFlags) run(cmd *cobra.Command, text string) error {
	id, name, err := nameOrID(text)
	if err != nil {
		return err
	}
	asks := term.IsTerminal(int(os.Stdin.Fd()))
	if !f.yes && !f.dryRun && !asks {
		return hint.Add(usageOf("there is no terminal to ask on"), "pass --yes to delete without being asked, or --dry-run to see the effect")
	}
	client, err := f.cloud.client()
	if err != nil {
		return err
	}
	key, this, err := f.keys.read()
	if err != nil {
		return err
	}
	r := &deleted{Cloud: client.URL(), DryRun: f.dryRun}
	if r.ListedIndex, r.There, err = f.find(cmd, this, client, key, id, name); err != nil {
		return fmt.Errorf("deleting index %s: %w", sanitize.Text(text), err)
	}
	if !f.dryRun {
		if !f.yes {
			if err := confirm(cmd, "delete "+r.text(), "deleted"); err != nil {
				return err
			}
		}
		if r.InUse, err = this.Delete(cmd.Context(), client, key, r.ListedIndex); err != nil {
			return err
		}
	}
	return output(cmd, f.asJSON, r, func() { f.print(cmd.OutOrStdout(), r) })
}

// find looks for the index at the cloud and then among the indexes that this
// device has seen. Result `there` reports whether the cloud has the index.
func (f *deleteFlags) find(cmd *cobra.Command, this *device.Device, client *cparhttp.Client, key *user.Key, id cpar.IndexID, name string) (x device.ListedIndex, there bool, err error) {
	list, err := this.List(cmd.Context(), client, key, bar.On(cmd.ErrOrStderr()))
	if err != nil {
		return x, false, err
	}
	if x, there, err = device.Named(client.URL(), list, id, name); err != nil || there {
		return x, there, err
	}
	// After an interrupted delete the cloud no longer has the index, but this
	// device still knows it.
	known, err := this.Known(key)
	if err != nil {
		return x, false, err
	}
	if x, ok, err := device.Named(client.URL(), known, id, name); err != nil || ok {
		return x, false, err
	}
	return x, false, device.NoSuchIndex(client.URL(), cmd.Flags().Arg(0), list)
}

// confirm asks the user to type yes. `done` is the participle in the error
// "nothing was …".
func confirm(cmd *cobra.Command, question, done string) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s? type yes: ", question)
	answer, err := interruptible.Answer(cmd.Context(), func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(os.Stdin, 1<<10)).ReadString('\n')
		if err == io.EOF {
			err = nil
		}
		return line, err
	})
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(answer) != "yes":
		return fmt.Errorf("%w; nothing was %s", exitcode.ErrInterrupted, done)
	}
	return nil
}

func (r *deleted) text() string {
	name := r.ID.String()
	if r.Name != "" {
		name = sanitize.Text(r.Name) + ", " + name
	}
	facts := fmt.Sprintf("%s, %s", orDash(r.Scheme), photosOf(r.Photos))
	switch {
	case !r.There:
		return fmt.Sprintf("index %s (%s), which is not at %s any more", name, facts, r.Cloud)
	case !r.Opens:
		facts += "; your key does not open it: " + r.Problem
	}
	return fmt.Sprintf("index %s (%s) at %s", name, facts, r.Cloud)
}

func (f *deleteFlags) print(out io.Writer, r *deleted) {
	verb := either(f.dryRun, "would forget", "forgot")
	if r.There {
		verb = either(f.dryRun, "would delete", "deleted")
	}
	fmt.Fprintf(out, "%s %s\n", verb, r.text())
	if r.InUse && !f.dryRun {
		fmt.Fprintln(out, "no index is in use on this device any more")
	}
}

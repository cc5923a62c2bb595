package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/internal/progress/bar"
	"cpar/user"
	"cpar/user/device"
)

type pushFlags struct {
	keys     keyFlags
	cloud    cloudFlags
	replaces string
	opt      device.PushOptions
	asJSON   bool
}

func pushCommand() *cobra.Command {
	var f pushFlags
	c := &cobra.Command{
		Use:   "push INDEX",
		Short: "send an encrypted index to a cloud",
		Long: `push sends an index folder to a cloud and activates it there in one step. Everything sent
is encrypted, and no key is needed, except to find an index by its name. Segments
that the cloud already has are not sent again, so an interrupted push continues where it
stopped, and a push after add or remove sends only the changes. --replaces deletes another
index there afterwards, such as the one replaced by compact. If this device uses that index,
it uses the pushed one from then on.

If the cloud has a generation of this index that this folder is not derived from, another
device may have added photos. push then refuses to replace it (exit code 7) unless --force
is given.`,
		Example: `  $ cpar push family.index --cloud http://127.0.0.1:8080
  pushed index 0f3c… (7 MB) to http://127.0.0.1:8080`,
		Args: oneArg("the folder or name of an index"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.keys.add(c)
	f.cloud.add(c)
	c.Flags().StringVar(&f.replaces, "replaces", "", "`name` or id of an index to delete at the cloud once this one is active")
	c.Flags().BoolVar(&f.opt.Force, "force", false, "replace the cloud's index even if another device has changed it")
	return writerFlags(c, &f.opt.DryRun, &f.asJSON)
}

func (f *pushFlags) run(cmd *cobra.Command, folder string) (err error) {
	replaces := ""
	if f.replaces != "" {
		if f.opt.Replaces, replaces, err = nameOrID(f.replaces); err != nil {
			return err
		}
	}
	if folder, err = indexFolder(&f.keys, folder); err != nil {
		return err
	}
	m, err := indexdir.ReadManifest(folder)
	if err != nil {
		return err
	}
	if f.replaces != "" && f.opt.Replaces == m.ID {
		return fmt.Errorf("pushing: %w: --replaces names the index that is pushed", cpar.ErrInput)
	}
	client, err := f.cloud.client()
	if err != nil {
		return err
	}
	this, err := device.This()
	if err != nil {
		return err
	}
	f.opt.Progress = bar.On(cmd.ErrOrStderr())
	if replaces != "" { // names are encrypted, so resolving one needs the key
		key, keeps, err := f.keys.read() // also applies the cache settings
		if err != nil {
			return err
		}
		x, err := keeps.Find(cmd.Context(), client, key, replaces, f.opt.Progress, m.ID)
		if err != nil {
			return fmt.Errorf("pushing: %w", err)
		}
		f.opt.Replaces = x.ID
	}
	pushed, err := this.Push(cmd.Context(), client, folder, f.opt)
	if err != nil {
		return err
	}
	m = pushed.Manifest
	result := map[string]any{"id": m.ID, "bytes": m.Bytes(), "cloud": client.URL(), "remembered": pushed.Remembered, "dry_run": f.opt.DryRun}
	if f.opt.DryRun {
		result["bytes_to_send"] = pushed.Missing
	} else {
		result["bytes_sent"] = pushed.Sent
	}
	if f.replaces != "" {
		result["replaces"] = f.opt.Replaces
	}
	return output(cmd, f.asJSON, result, func() {
		if f.opt.DryRun {
			fmt.Fprintf(cmd.OutOrStdout(), "would push index %v to %s: %s of %s to send\n", m.ID, client.URL(), size(pushed.Missing), size(m.Bytes()))
			return
		}
		sent := size(m.Bytes())
		if pushed.Sent < m.Bytes() {
			sent = fmt.Sprintf("sent %s of %s", size(pushed.Sent), sent)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "pushed index %v (%s) to %s\n", m.ID, sent, client.URL())
		if !pushed.Remembered {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: this device has not made this state, so it does not count as seen; annotate a photo to remember it")
		}
		if pushed.Switched {
			fmt.Fprintf(cmd.OutOrStdout(), "this device uses it from now on, in place of %v\n", f.opt.Replaces)
		}
		f.nextAnnotate(cmd, folder, pushed)
	})
}

// nextAnnotate suggests the command that annotates photos with the index just
// pushed from a folder.
func (f *pushFlags) nextAnnotate(cmd *cobra.Command, folder string, p device.Pushed) {
	named := ""
	if p.InUse == nil || *p.InUse != p.Origin {
		named = " --index " + shellWord(folder)
	}
	if p.InUse != nil && named != "" && user.Hides(p.Manifest.Scheme) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: this device still uses index %v; naming the new one once, as below, switches it\n", *p.InUse)
	}
	next(cmd, "cpar annotate PHOTO%s%s%s", again("cloud", f.cloud.url), f.keys.again(), named)
}

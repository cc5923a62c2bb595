package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/sanitize"
	"cpar/user"
	"cpar/user/device"
)

// This file resolves --index for all commands. The flag gives the folder of an
// index, its name or its id. If a folder of that name exists, it takes
// precedence.

const indexUsage = "`index`: its name, its id or its folder"

// indexAt returns the manifest of the index in a folder, or false if `text`
// does not name a folder.
func indexAt(text string) (*cpar.Manifest, bool, error) {
	if info, err := os.Stat(text); err != nil || !info.IsDir() {
		return nil, false, nil
	}
	m, err := indexdir.ReadManifest(text)
	if errors.Is(err, indexdir.ErrNoIndex) && user.CheckName(text) == nil {
		return nil, false, nil // another folder that happens to have the name of an index
	}
	return m, err == nil, err
}

// indexFolder returns the folder of an index. `text` is the path of the folder,
// or the name or id of an index that this device built, or "" for the only
// index that this device built.
func indexFolder(keys *keyFlags, text string) (string, error) {
	if text == "" {
		return onlyFolder(keys)
	}
	_, there, err := indexAt(text)
	if there || err != nil {
		return text, err
	}
	_, missing := indexdir.ReadManifest(text)
	missing = hint.Add(missing, "name the folder that cpar build --out made, or the name of an index that this device made")
	id, name, err := nameOrID(text)
	if err != nil {
		return "", missing
	}
	if d, err := device.This(); err != nil || !d.MadeAny() || !keys.exists() {
		return "", missing
	}
	key, this, err := keys.read()
	if err != nil {
		return "", err
	}
	folder, err := this.Folder(key, id, name)
	if err == nil {
		resolved(keys.cmd, "index %s is in the folder %s", text, folder)
	}
	return folder, err
}

func onlyFolder(keys *keyFlags) (string, error) {
	missing, advice := usageOf("no index was named"), "pass --index FOLDER, the folder that cpar build --out made, or the name of the index"
	if d, err := device.This(); err != nil || !d.MadeAny() || !keys.exists() {
		return "", hint.Add(missing, "%s", advice)
	}
	key, this, err := keys.read()
	if err != nil {
		return "", err
	}
	folders, err := this.Folders(key)
	switch {
	case err != nil:
		return "", err
	case len(folders) == 1:
		resolved(keys.cmd, "the index is in the folder %s", folders[0])
		return folders[0], nil
	case len(folders) > 1:
		advice = "pass --index with one of: " + strings.Join(folders, ", ")
	}
	return "", hint.Add(missing, "%s", sanitize.Text(advice))
}

// resolved prints how a command understood --index, because the user may have
// meant another index.
func resolved(cmd *cobra.Command, format string, args ...any) {
	if asJSON, err := cmd.Flags().GetBool("json"); err == nil && asJSON {
		return
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "note: "+sanitize.Text(fmt.Sprintf(format, args...)))
}

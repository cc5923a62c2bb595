package main

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/sanitize"
	"cpar/user"
	"cpar/user/device"
)

// services maps service managers to functions that write a service definition.
// Such a service starts the command with the user's session.
var services = map[string]func(command []string, notes []string) string{
	"systemd": systemdUnit, "launchd": launchAgent, "task": scheduledTask,
}

var serviceHere = cmp.Or(map[string]string{"darwin": "launchd", "windows": "task"}[runtime.GOOS], "systemd")

func (f *watchFlags) printService(cmd *cobra.Command, folders []string) error {
	text := services[f.install]
	if text == nil {
		return exitcode.UsageError(fmt.Errorf("--install=%s; there are systemd, launchd and task", sanitize.Text(f.install)))
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding cpar: %w: %w", cpar.ErrInput, err)
	}
	command := []string{program, "watch"}
	for _, folder := range folders {
		abs, err := filepath.Abs(folder)
		if err != nil {
			return fmt.Errorf("finding the folder: %w: %w", cpar.ErrInput, err)
		}
		command = append(command, abs)
	}
	command = append(command, givenFlags(cmd)...)
	if slices.ContainsFunc(command, func(s string) bool { return strings.ContainsAny(s, "\r\n") }) {
		return exitcode.UsageError(fmt.Errorf("a name contains the end of a line, which services cannot express"))
	}
	fmt.Fprint(cmd.OutOrStdout(), text(command, f.secrets()))
	return nil
}

// givenFlags returns the flags and settings in effect, with absolute paths,
// because a service runs in another folder with another environment.
func givenFlags(cmd *cobra.Command) (all []string) {
	found, _ := table.Find("") // applySettings has reported errors
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		set := len(found[flag.Name].Values) > 0 && flag.Value.String() != flag.DefValue
		if flag.Name == "install" || !flag.Changed && !set {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		_, isFile := fileFlags[flag.Name]
		for _, v := range values {
			if abs, err := filepath.Abs(v); (isFile || slices.Contains(folderFlags, flag.Name)) && v != "" && err == nil {
				if _, err := os.Stat(abs); err == nil { // v is not a special value such as none
					v = abs
				}
			}
			all = append(all, "--"+flag.Name+"="+v)
		}
	})
	return all
}

// secrets returns notes on the secrets that the user must provide to the
// service. The service's command never contains a secret, because other
// programs can read it.
func (f *watchFlags) secrets() (notes []string) {
	keys := &f.ask.keys
	if path, err := keys.file(); err == nil && keys.passphraseFile == "" {
		if encryptedKey(path) {
			notes = append(notes, "The key file needs a passphrase. Store it in the keyring of your session (cpar key remember),",
				"or add --passphrase-file=FILE, which only you may read (chmod 600).")
		}
	}
	if os.Getenv(tokenVariable) != "" {
		notes = append(notes, "The token in $"+tokenVariable+" does not reach the service. Put it into a file that only you may read,",
			"and add --token-file=FILE.")
	}
	return notes
}

// encryptedKey reports whether a key file can be opened only with a passphrase.
func encryptedKey(path string) bool {
	this, err := device.This()
	if err != nil {
		return false
	}
	if remembered, _ := this.Remembers(path); remembered {
		return false
	}
	_, err = this.ReadKey(path, user.Unlock{Passphrase: func() (string, error) { return "", errAsking }})
	return errors.Is(err, errAsking)
}

func comment(mark string, notes ...string) string {
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "%s %s\n", mark, n)
	}
	return b.String()
}

func systemdUnit(command, notes []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(w) + `"`
	}
	return comment("#", append([]string{
		"Save as ~/.config/systemd/user/cpar-watch.service, then run:",
		"  systemctl --user daemon-reload",
		"  systemctl --user enable --now cpar-watch.service",
		"To also run it while you are logged out: loginctl enable-linger"}, notes...)...) + `[Unit]
Description=cpar annotates new photos

[Service]
ExecStart=` + strings.Join(words, " ") + `
Restart=on-failure
RestartSec=60
# Mistakes in the command, and a refused key, need you.
RestartPreventExitStatus=2 4
Nice=10
IOSchedulingClass=idle

[Install]
WantedBy=default.target
`
}

func launchAgent(command, notes []string) string {
	var words strings.Builder
	for _, w := range command {
		words.WriteString("    <string>")
		_ = xml.EscapeText(&words, []byte(w)) // cannot fail in memory
		words.WriteString("</string>\n")
	}
	head := []string{"Save as ~/Library/LaunchAgents/cpar.watch.plist, then run:",
		"  launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/cpar.watch.plist"}
	var b strings.Builder
	for _, n := range append(head, notes...) {
		// Comments of XML must not contain two hyphens.
		b.WriteString("<!-- " + strings.ReplaceAll(n, "--", "- -") + " -->\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
` + b.String() + `<plist version="1.0">
<dict>
  <key>Label</key><string>cpar.watch</string>
  <key>ProgramArguments</key>
  <array>
` + words.String() + `  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>60</integer>
  <key>ProcessType</key><string>Background</string>
</dict>
</plist>
`
}

func scheduledTask(command, notes []string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	words := make([]string, len(command)-1)
	for i, w := range command[1:] {
		words[i] = windowsWord(w)
	}
	return comment("#", append([]string{"Run in PowerShell:"}, notes...)...) +
		"$action = New-ScheduledTaskAction -Execute " + quote(command[0]) + " -Argument " + quote(strings.Join(words, " ")) + `
$trigger = New-ScheduledTaskTrigger -AtLogOn -User "$env:USERDOMAIN\$env:USERNAME"
$settings = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -ExecutionTimeLimit 0 -RestartCount 3 -RestartInterval (New-TimeSpan -Minutes 1)
Register-ScheduledTask -TaskName 'cpar watch' -Action $action -Trigger $trigger -Settings $settings
`
}

// windowsWord quotes an argument as the C runtime of Windows parses it: a
// backslash is special only before a quotation mark.
func windowsWord(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for _, c := range s {
		switch c {
		case '\\':
			slashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteRune(c)
	}
	b.WriteString(strings.Repeat(`\`, slashes) + `"`)
	return b.String()
}

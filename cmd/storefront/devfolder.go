package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"go.storefront.example/ent/db"
	"go.storefront.example/worker/egress"
)

const (
	devData = ".storefront"
	// devDatabase and devFile are files in dev's folder. A folder with a devFile counts as dev's.
	devDatabase = "storefront.db"
	devFile     = "dev.json"
)

var devTargets = egress.Policy{AllowPrivate: true, AllowHTTP: true}

// devFolder is the folder of a dev that runs or has run. Commands look for it as git looks for its repository.
type devFolder struct {
	// AdminURL is the address of dev's admin services in its last run; "" if it served none.
	AdminURL string `json:"adminUrl"`
	// NeedsToken is true if they accept only requests with --admin-token.
	NeedsToken bool `json:"needsToken"`

	path      string
	isRunning bool
}

// findDev returns nil without a dev folder, or if the current folder has a storefront.db that is not dev's.
func findDev() *devFolder {
	if exists(devDatabase) && !exists(devFile) {
		return nil
	}
	at, err := os.Getwd()
	if err != nil {
		return nil
	}
	for {
		for _, path := range []string{filepath.Join(at, devData), at} {
			if d := readDev(path); d != nil {
				return d
			}
		}
		above := filepath.Dir(at)
		if above == at {
			return nil
		}
		at = above
	}
}

// readDev returns nil if devFile is missing, or if devFile or devDatabase is a link or another user's, who could otherwise be
// sent the token.
func readDev(path string) *devFolder {
	file := filepath.Join(path, devFile)
	for _, part := range []string{file, filepath.Join(path, devDatabase)} {
		if info, err := os.Lstat(part); err != nil || !isOwn(info) {
			return nil
		}
	}
	text, err := os.ReadFile(file)
	d := &devFolder{path: path}
	if err != nil || json.Unmarshal(text, d) != nil {
		return nil
	}
	d.isRunning, _ = db.IsClaimed(filepath.Join(path, devDatabase))
	return d
}

// write writes devFile, which stays after dev has ended.
func (d *devFolder) write() error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.path, devFile), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	return nil
}

func (d *devFolder) databaseURL() string { return "sqlite:" + filepath.Join(d.path, devDatabase) }

// acceptsToken reports whether a dev runs whose admin services accept the token. A nil folder accepts none.
func (d *devFolder) acceptsToken(token string) bool {
	return d != nil && d.isRunning && d.AdminURL != "" && (token != "" || !d.NeedsToken)
}

func (d database) isDevDatabase() bool {
	path, embedded := strings.CutPrefix(d.DatabaseURL, "sqlite:")
	return embedded && filepath.Base(path) == devDatabase && readDev(filepath.Dir(path)) != nil
}

// usesDevFolder reports whether a command uses dev's folder by default. server, worker and migrate use storefront.db in the
// current folder.
func usesDevFolder(k *kong.Context) bool {
	command, _, _ := strings.Cut(k.Command(), " ")
	return !slices.Contains([]string{"server", "worker", "migrate"}, command)
}

// selectDev tells the user which dev folder the command uses, or returns nil for another database or server.
func (s *invocation) selectDev(k *kong.Context, found *devFolder) *devFolder {
	if found == nil {
		return nil
	}
	remote, token := false, ""
	for _, f := range k.Flags() {
		value, _ := k.FlagValue(f).(string)
		switch {
		case f.Name == "admin-url" && value != "":
			return nil
		case f.Name == "admin-url":
			remote = !f.Hidden
		case f.Name == "admin-token":
			token = value
		}
	}
	address := filepath.Join(found.path, devDatabase)
	if remote && found.acceptsToken(token) {
		address = found.AdminURL + " (" + found.path + ")"
	}
	s.printMessage("using `storefront dev` at " + address)
	return found
}

func (s *invocation) printMessage(text string) { _, _ = fmt.Fprintln(s.errs, "storefront: "+text) }

var errNoDev = errors.New("there is no `storefront dev` in this folder or above: start one, or name a server's operator's " +
	"listener with --admin-url")

// runningDev returns the folder of the dev that runs, or why commands cannot use one.
func (s *invocation) runningDev(token string) (*devFolder, error) {
	found := findDev()
	switch {
	case found == nil:
		return nil, errNoDev
	case !found.isRunning:
		return nil, fmt.Errorf("the `storefront dev` of %s does not run: start it, or name a server's admin listener with "+
			"--admin-url", found.path)
	case found.AdminURL == "":
		return nil, fmt.Errorf("the `storefront dev` of %s serves no admin services: start it with a loopback --admin-addr, or with "+
			"an --admin-token", found.path)
	case !found.acceptsToken(token):
		return nil, fmt.Errorf("the `storefront dev` of %s has an --admin-token: set STOREFRONT_ADMIN_TOKEN to it", found.path)
	}
	return found, nil
}

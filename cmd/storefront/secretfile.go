package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"
)

const (
	// secretTag is the tag of a secret flag. The variable of its name and fileSuffix can name a file with the value.
	secretTag = "secret"
	// fileSuffix makes names such as STOREFRONT_ADMIN_TOKEN_FILE.
	fileSuffix = "_FILE"
	// credentialsDirectory has the folder of systemd's LoadCredential= (https://systemd.io/CREDENTIALS), whose files are named
	// credentialPrefix and the flag's name.
	credentialsDirectory = "CREDENTIALS_DIRECTORY"
	credentialPrefix     = "storefront."
	// othersMayUse are the permissions for users outside the file's group, which may read it: Kubernetes mounts files for it
	// (fsGroup), and /etc/storefront/storefront.env is for it, too.
	othersMayUse   = fs.FileMode(0o006)
	maxSecretBytes = 64 << 10
)

// secretOf reads the variable, the file that <variable>_FILE names, or systemd's credential, unless it is "". It returns an
// error if several have the secret, because they may differ.
func secretOf(env func(string) (string, bool), variable, credential string) (string, error) {
	value, _ := env(variable)
	var places []string
	if value != "" {
		places = append(places, variable)
	}
	source := variable + fileSuffix
	path, _ := env(source)
	if path != "" {
		places = append(places, source)
	}
	if folder, _ := env(credentialsDirectory); folder != "" && credential != "" {
		if given := filepath.Join(folder, credential); exists(given) {
			source, path = "the credential "+credential, given
			places = append(places, source)
		}
	}
	switch {
	case len(places) > 1:
		return "", fmt.Errorf("%s are set; keep one of them", strings.Join(places, " and "))
	case path == "":
		return value, nil
	}
	secret, err := readSecret(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	return secret, nil
}

// readSecret returns a file's only line. Except on Windows, it refuses a file that others may use.
func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	text, err := readPrivate(file)
	return text, errors.Join(err, file.Close())
}

// checkPrivate refuses a file that other users may read or write, except on Windows.
func checkPrivate(path string, mode fs.FileMode) error {
	if mode = mode.Perm(); mode&othersMayUse == 0 || runtime.GOOS == "windows" {
		return nil
	}
	return fmt.Errorf("%s has mode %#o, so users beside its owner and group can read or change it: run chmod o= on it "+
		"(Kubernetes: defaultMode: 0440 of the volume, and fsGroup of the pod; Docker: mode: 0400 of the secret, and uid of the user "+
		"in the container)", path, mode)
}

// isSecret reports whether a flag's value must stay secret: an address only if it has a password.
func isSecret(flag *kong.Flag, value string) bool {
	if !flag.Tag.Has(secretTag) || value == "" || value == none {
		return false
	}
	if address, err := url.Parse(value); err == nil && address.Scheme != "" {
		_, hasPassword := address.User.Password()
		return hasPassword || address.Query().Has("password")
	}
	return true
}

func readPrivate(file *os.File) (string, error) {
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if err := checkPrivate(file.Name(), info.Mode()); err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	text, ended := strings.CutSuffix(string(content), "\n")
	if ended {
		text = strings.TrimSuffix(text, "\r")
	}
	switch {
	case text == "":
		return "", fmt.Errorf("%s is empty", file.Name())
	case len(content) > maxSecretBytes || strings.ContainsAny(text, "\r\n"):
		return "", fmt.Errorf("%s must have one line, with nothing but the secret", file.Name())
	}
	return text, nil
}

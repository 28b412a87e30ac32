package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// serviceModule is the module of the service, and servicePackage the program that is driven.
const (
	serviceModule  = "go.storefront.example"
	servicePackage = "./cmd/storefront"
)

// serviceBinary returns the path of the storefront program: the given one, or one that it builds
// into the folder.
func serviceBinary(ctx context.Context, given, folder string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	path := filepath.Join(folder, "storefront")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	// The program is built within its own module, with the versions that it is released with.
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", serviceModule).Output()
	if err != nil {
		return "", fmt.Errorf("find %s (or name a program that is built with --binary): %w", serviceModule, err)
	}
	text, err := exec.CommandContext(ctx, "go", "-C", strings.TrimSpace(string(module)), "build", "-o", path, servicePackage).CombinedOutput() //nolint:gosec // Its own package.
	if err != nil {
		return "", fmt.Errorf("build %s (or name one that is built with --binary): %w: %s", servicePackage, err, strings.TrimSpace(string(text)))
	}
	return path, nil
}

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// servicePackage is the program that is driven.
const servicePackage = "go.storefront.example/cmd/storefront"

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
	text, err := exec.CommandContext(ctx, "go", "build", "-o", path, servicePackage).CombinedOutput() //nolint:gosec // Its own package.
	if err != nil {
		return "", fmt.Errorf("build %s (or name one that is built with --binary): %w: %s", servicePackage, err, strings.TrimSpace(string(text)))
	}
	return path, nil
}

package db

import "strings"

// Statements splits SQL files by name. Each statement follows a line "-- name: NAME".
func Statements(files ...string) map[string]string {
	statements := map[string]string{}
	for _, part := range strings.Split(strings.Join(files, "\n"), "-- name: ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		statements[name] = strings.TrimSpace(text)
	}
	return statements
}

package db

import "strings"

// Statements splits a file of SQL into its statements by name. Each stands below a line "-- name: NAME".
func Statements(file string) map[string]string {
	statements := map[string]string{}
	for _, part := range strings.Split(file, "-- name: ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		statements[name] = strings.TrimSpace(text)
	}
	return statements
}

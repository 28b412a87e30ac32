package db

import (
	"strings"

	"go.storefront.example/ent/tenant"
)

// MovingStores is a query of the stores that workers leave alone: they move, and no more are only copied, or have moved.
const MovingStores = "SELECT id FROM stores WHERE moving IS NOT NULL AND moving <> '" + tenant.Copying + "'"

// Statements splits files of SQL into their statements by name. Each stands below a line "-- name: NAME". {moving} stands for
// MovingStores.
func Statements(files ...string) map[string]string {
	statements := map[string]string{}
	for _, part := range strings.Split(strings.Join(files, "\n"), "-- name: ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		statements[name] = strings.ReplaceAll(strings.TrimSpace(text), "{moving}", MovingStores)
	}
	return statements
}

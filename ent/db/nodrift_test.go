//go:build !atlas

package db_test

import (
	"testing"

	"go.storefront.example/ent/db"
)

// requireTablesOfSchema compares nothing without the tag atlas, so that a plain go test compiles no atlas and no HCL.
func requireTablesOfSchema(*testing.T, *db.DB) {}

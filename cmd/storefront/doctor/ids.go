package doctor

import (
	"context"
	"fmt"
	"strings"

	"entgo.io/ent/dialect"
	"github.com/dustin/go-humanize"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/validate"
)

var tablesFromOutside = []string{"stores", "products", "customers", "orders", "order_items", "payment_links", "events",
	"finished_deliveries", "activity_entries", "webhooks", "api_keys"}

// namesOfRows are the columns with names that a request may have in place of an id.
var namesOfRows = [][2]string{{"stores", "slug"}, {"products", "slug"}, {"orders", "reference"}, {"payment_links", "code"},
	{"api_keys", "name"}}

// ids looks for what releases up to 2026-09 let in: reserved ids, ids that rows of two stores share, and names in the form of
// an id.
func ids(ctx context.Context, d *db.DB, _ Installation) Finding {
	limited, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	for _, check := range []func(context.Context, *db.DB) (Finding, error){reservedIDs, sharedIDs, namesLikeIDs} {
		f, err := check(limited, d)
		switch {
		case err != nil && limited.Err() != nil && ctx.Err() == nil:
			return ok("more than can be looked at in %v", compareTime)
		case err != nil:
			return unreadable(err)
		case f.Status != OK:
			return f
		}
	}
	return ok("each of one row, none reserved")
}

func reservedIDs(ctx context.Context, d *db.DB) (Finding, error) {
	var found []string
	for _, table := range tablesFromOutside {
		rows, err := texts(ctx, d, "SELECT CAST(id AS text) FROM "+table+" WHERE id IN ($1, $2)", uuid.Nil, uuid.Max)
		if err != nil {
			return Finding{}, err
		}
		for _, row := range rows {
			found = append(found, table+" "+row)
		}
	}
	if len(found) == 0 {
		return ok(""), nil
	}
	return fail("delete the store that has the row: its dashboard may show what is not its own", "%s with an id that the service reserves: %s",
		plural(len(found), "row"), listed(found)), nil
}

// sharedIDs finds ids that rows of two stores share, which only PostgreSQL's primary keys allow.
func sharedIDs(ctx context.Context, d *db.DB) (Finding, error) {
	if d.Dialect() != dialect.Postgres {
		return ok(""), nil
	}
	var found []string
	for _, table := range tablesFromOutside[1:] {
		rows, err := texts(ctx, d, "SELECT id::text FROM "+table+" GROUP BY id HAVING count(*) > 1 ORDER BY id")
		if err != nil {
			return Finding{}, err
		}
		for _, row := range rows {
			found = append(found, table+" "+row)
		}
	}
	if len(found) == 0 {
		return ok(""), nil
	}
	return fail("name the store beside the id, as with --store, and delete the store into which the export was imported by mistake",
		"%s in two stores: %s", plural(len(found), "id"), listed(found)), nil
}

func namesLikeIDs(ctx context.Context, d *db.DB) (Finding, error) {
	var found []string
	for _, n := range namesOfRows {
		table, column := n[0], n[1]
		rows, err := texts(ctx, d, fmt.Sprintf("SELECT CAST(id AS text) || ' ' || %[2]s FROM %[1]s WHERE length(%[2]s) IN (32, 36, 38, 45) "+
			"AND lower(%[2]s) <> CAST(id AS text) ORDER BY id", table, column))
		if err != nil {
			return Finding{}, err
		}
		for _, row := range rows {
			if id, name, _ := strings.Cut(row, " "); validate.IsIDForm(name) {
				found = append(found, table+" "+id)
			}
		}
	}
	if len(found) == 0 {
		return ok(""), nil
	}
	return warn("name these rows by their id: their name would be taken for the id of another row", "%s in the form of an id: %s",
		plural(len(found), "name"), listed(found)), nil
}

func texts(ctx context.Context, d *db.DB, query string, args ...any) (all []string, err error) {
	for row := range db.Rows(ctx, d.Reader(), query, args...) {
		var text string
		if err := row.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

func listed(names []string) string {
	if len(names) > maxListed {
		names = append(names[:maxListed:maxListed], humanize.Comma(int64(len(names)-maxListed))+" more")
	}
	return strings.Join(names, ", ")
}

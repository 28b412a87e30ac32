package doctor

import (
	"context"
	"strings"

	"entgo.io/ent/dialect"
	"github.com/dustin/go-humanize"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/resource"
	"go.storefront.example/server/validate"
)

// SQL conditions for every e-mail that validate.Email might refuse or change, and for few others.
const (
	unusualPostgres = `email ~ '[^a-z0-9.@+-]|--|[.@]-|-[.@]' OR length(email) > 64`
	unusualSQLite   = `email GLOB '*[^a-z0-9.@+-]*' OR email LIKE '%--%' OR email LIKE '%.-%' OR email LIKE '%@-%' OR email LIKE '%-.%' ` +
		`OR email LIKE '%-@%' OR length(email) > 64`
)

// emails counts customers whose e-mail an older rule allowed. The service shows it, but refuses it in a request, or takes the
// buyer for a new customer.
func emails(ctx context.Context, d *db.DB, _ Installation) Finding {
	condition := unusualPostgres
	if d.Dialect() == dialect.SQLite {
		condition = unusualSQLite
	}
	limited, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	old, ids := 0, []string(nil)
	for row := range db.Rows(limited, d.Reader(), "SELECT CAST(id AS text), email FROM customers WHERE ("+condition+
		" OR email LIKE '%"+resource.ForgottenDomain+"') AND email <> CAST(id AS text) || '@"+resource.ForgottenDomain+"' ORDER BY id") {
		var id, stored string
		err := row.Scan(&id, &stored)
		switch {
		case limited.Err() != nil && ctx.Err() == nil:
			return ok("more than can be looked at in %v", compareTime)
		case err != nil:
			return unreadable(err)
		}
		if email, same := validate.Email(stored); same && email == stored {
			continue
		}
		if old++; old <= maxListed {
			ids = append(ids, id)
		}
	}
	switch {
	case old == 0:
		return ok("as today's rule has them")
	case old > maxListed:
		ids = append(ids, humanize.Comma(int64(old-maxListed))+" more")
	}
	return warn("correct them with `storefront customer update ID --email EMAIL`; until then they are shown as they are, and the "+
		"same buyer becomes another customer", "%s of customers that today's rule refuses or writes otherwise: %s", plural(old, "e-mail"),
		strings.Join(ids, ", "))
}

package auth

import (
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"

	"go.storefront.example/ent/db"
)

// clock is the time that a gate judges by. On PostgreSQL it is the database's: each look-up returns
// it, and decisions without a look-up use this process's clock, corrected by the last answer.
type clock struct {
	given func() time.Time // nil: the database's clock
	ahead atomic.Int64     // nanoseconds from this process's clock to the database's
}

func (c *clock) init(s *db.DB, given func() time.Time) {
	c.given = given
	if given == nil && s.Dialect() == dialect.SQLite {
		c.given = s.Now
	}
}

// fixed is the time for a statement, or nil if the statement must read the database's clock.
func (c *clock) fixed() *time.Time {
	if c.given == nil {
		return nil
	}
	now := c.given().UTC()
	return &now
}

// now is the best estimate of the time without a query.
func (c *clock) now() time.Time {
	if c.given == nil {
		return time.Now().Add(time.Duration(c.ahead.Load())).UTC()
	}
	return c.given().UTC()
}

// learn corrects the clock by a time that the database returned for a statement sent at sent and
// answered at answered. The database read its clock between the two, so the exact offset is
// uncertain: the clock moves only if it lies outside that range, and only to its edge, so that one
// slow answer does not move it.
func (c *clock) learn(read, sent, answered time.Time) {
	if c.given != nil {
		return
	}
	// Round drops the monotonic reading, which does not follow a clock that is set anew.
	least, most := int64(read.Sub(answered.Round(0))), int64(read.Sub(sent.Round(0)))
	ahead := c.ahead.Load()
	if moved := min(max(ahead, least), most); moved != ahead {
		c.ahead.Store(moved)
	}
}

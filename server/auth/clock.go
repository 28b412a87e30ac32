package auth

import (
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"

	"go.storefront.example/ent/db"
)

// clock is the time that a gate judges by. On PostgreSQL it is the database's: a look-up is told
// the time with its answer, and what is decided without a look-up goes by this process's clock,
// set right by the last answer.
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

// fixed is the time that a statement is to go by, and nil when it is to ask the database's clock.
func (c *clock) fixed() *time.Time {
	if c.given == nil {
		return nil
	}
	now := c.given().UTC()
	return &now
}

// now is the time, as near as it is known without asking.
func (c *clock) now() time.Time {
	if c.given == nil {
		return time.Now().Add(time.Duration(c.ahead.Load())).UTC()
	}
	return c.given().UTC()
}

// learn sets the clock by a time that the database told in answer to a statement sent at sent and
// answered at answered. The database's clock was read between the two, which leaves room for doubt:
// the clock is moved only when it lies outside, and no further than to the edge, so that one slow
// answer does not move it.
func (c *clock) learn(told, sent, answered time.Time) {
	if c.given != nil {
		return
	}
	// Round drops the monotonic reading, which does not follow a clock that is set anew.
	least, most := int64(told.Sub(answered.Round(0))), int64(told.Sub(sent.Round(0)))
	ahead := c.ahead.Load()
	if moved := min(max(ahead, least), most); moved != ahead {
		c.ahead.Store(moved)
	}
}

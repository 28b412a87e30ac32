package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"go.storefront.example/ent/tracing"
)

const (
	// maxSpanQuery is how many bytes of a statement its span shows, because inserts of many rows are repetitive.
	maxSpanQuery = 2048
	// cancelTimeout is how long a statement may outlive its context, while the driver asks the server to cancel it. A vanished
	// server, or a pooler without a free session, never accepts that.
	cancelTimeout = time.Second
)

// trip is one round trip to the database. It ends when the result has been read.
type trip struct {
	conn  *conn
	ctx   context.Context
	span  trace.Span
	ended atomic.Bool
	stop  func() bool
}

// begin starts a round trip: a statement, or BEGIN, COMMIT and the like. If the context's span is recorded, it starts one with
// the statement, without the values of parameters (OpenTelemetry's conventions for databases). It breaks the connection
// cancelTimeout after the end of the context, because the driver would wait without limit.
func (c *conn) begin(ctx context.Context, query string) *trip {
	c.observe(query)
	t := &trip{conn: c, ctx: ctx, span: noop.Span{}}
	if trace.SpanFromContext(ctx).IsRecording() {
		system := "sqlite"
		if c.remote {
			system = "postgresql"
		}
		_, t.span = tracing.Child(ctx, summary(query), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("db.system.name", system), attribute.String("db.query.text", query[:min(len(query), maxSpanQuery)])))
	}
	if c.socket != nil && ctx.Done() != nil {
		t.stop = context.AfterFunc(ctx, func() {
			time.AfterFunc(cancelTimeout, func() {
				if !t.ended.Load() {
					_ = c.socket.SetDeadline(time.Unix(1, 0)) // makes the driver's read or write fail
				}
			})
		})
	}
	return t
}

// end returns the error for the caller. It drops a connection that the server no longer serves, or whose prepared statements it
// rejects. Then database/sql runs a query outside of a transaction again, and WithTx a lost transaction.
func (t *trip) end(err error) error {
	t.ended.Store(true)
	if t.stop != nil {
		t.stop()
	}
	c := t.conn
	if c.remote && t.ctx.Err() != nil {
		// The driver may have asked the server to cancel the query, over another connection. Arriving late, that cancels the
		// next query.
		c.broken = true
	}
	err = c.handleError(err)
	if e := pq.As(err); e != nil && t.span.IsRecording() {
		// The text may contain values of the rejected row.
		t.span.SetAttributes(attribute.String("db.response.status_code", string(e.Code)))
	}
	tracing.End(t.span, err)
	switch {
	case err == nil:
		return nil
	case isStale(err):
		c.broken = true
		if !c.inTx {
			return driver.ErrBadConn
		}
	case pq.As(err, pqerror.QueryCanceled) != nil && t.ctx.Err() != nil:
		return fmt.Errorf("%w: %w", t.ctx.Err(), err)
	}
	return err
}

// handleError marks a connection as broken that the server no longer serves, and adds errNotReplicated for an unconfirmed
// commit.
func (c *conn) handleError(err error) error {
	if err != nil && isLost(err) {
		c.broken = true
	}
	if c.unreplicated {
		c.unreplicated = false
		return errors.Join(errNotReplicated, err)
	}
	return err
}

var (
	changeClause = regexp.MustCompile("(INSERT INTO|UPDATE|DELETE FROM) [\"`]?([a-z_]+)")
	readClause   = regexp.MustCompile("(FROM) [\"`]?([a-z_]+)")
)

// summary returns a text such as UPDATE orders: verb and table of the statement's last change or, if it changes nothing, of its
// first read.
func summary(query string) string {
	if found := changeClause.FindAllStringSubmatch(query, -1); len(found) > 0 {
		last := found[len(found)-1]
		verb, _, _ := strings.Cut(last[1], " ")
		return verb + " " + last[2]
	}
	if found := readClause.FindStringSubmatch(query); found != nil {
		return "SELECT " + found[2]
	}
	verb, _, _ := strings.Cut(query, " ")
	return verb
}

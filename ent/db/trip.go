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
	// maxSpanQuery is how many bytes of a statement its span shows. It is short, because inserts of many rows are repetitive.
	maxSpanQuery = 2048
	// cancelTimeout is how long a statement may continue after its context has ended. Meanwhile the driver asks the server to
	// cancel the statement. A server that has vanished, or a pooler without a free session, never accepts that request.
	cancelTimeout = time.Second
)

// trip is one round trip to the database. It ends when the result has been read.
type trip struct {
	conn  *conn
	ctx   context.Context
	span  trace.Span
	ended atomic.Bool
	stop  func() bool // cancels the function that runs when ctx ends; nil without one
}

// begin starts a round trip that runs a statement, or BEGIN, COMMIT and the like. If the context's span is recorded, it starts
// a span with the statement, without the values of its parameters (OpenTelemetry's conventions for databases).
//
// If the context ends, the driver asks the server to cancel the statement and then waits without limit. So begin breaks the
// connection cancelTimeout after the end of the context.
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

// end ends a round trip and returns the error for the caller. If the server no longer serves the connection, or rejects its
// prepared statements, end drops the connection. Then database/sql runs a query outside of a transaction again on another
// connection, and WithTx runs a lost transaction again.
func (t *trip) end(err error) error {
	t.ended.Store(true)
	if t.stop != nil {
		t.stop()
	}
	c := t.conn
	if c.remote && t.ctx.Err() != nil {
		// Drop the connection, because the driver may have asked the server to cancel the query. That request arrives on another
		// connection. If it arrives late, it cancels the next query.
		c.broken = true
	}
	err = c.handleError(err)
	if e := pq.As(err); e != nil && t.span.IsRecording() {
		// Show only the code, because the text may contain values of the rejected row.
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

// handleError returns the error err of a round trip. It marks the connection as broken if the server no longer serves it, and
// adds errNotReplicated if the synchronous standby did not confirm a commit.
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

// summary returns the verb and the table of a statement, such as UPDATE orders. A statement with several parts has the verb
// and the table of its last change or, if it changes nothing, of its first read.
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

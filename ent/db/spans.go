package db

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"go.storefront.example/ent/tracing"
)

// maxSpanQuery is how many bytes of a statement its span shows: inserts of many rows are
// repetitive.
const maxSpanQuery = 2048

// begin starts the span of a round trip, if the context's span is recorded. It shows the statement
// without its parameters' values (OpenTelemetry's conventions for databases).
func (c *conn) begin(ctx context.Context, query string) trace.Span {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return noop.Span{}
	}
	system := "sqlite"
	if c.remote {
		system = "postgresql"
	}
	_, s := tracing.Child(ctx, summary(query), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("db.system.name", system), attribute.String("db.query.text", query[:min(len(query), maxSpanQuery)])))
	return s
}

// end ends the span of a round trip. Of an error it records only the database's code: the text may
// contain values of the refused row.
func end(s trace.Span, err error) {
	if code, ok := postgresCode(err); ok && s.IsRecording() {
		s.SetAttributes(attribute.String("db.response.status_code", code))
	}
	tracing.End(s, err)
}

// summary names a statement by its verb and table, such as UPDATE orders: the last change in it, or
// without a change the first table that it reads.
func summary(query string) string {
	words := strings.Fields(query)
	read, changed := "", ""
	for i, word := range words[:max(0, len(words)-1)] {
		switch table := name(words[i+1]); {
		case table == "":
		case word == "INTO" && i > 0 && strings.HasSuffix(words[i-1], "INSERT"):
			changed = "INSERT " + table
		case strings.HasSuffix(word, "UPDATE"):
			changed = "UPDATE " + table
		case word == "FROM" && i > 0 && strings.HasSuffix(words[i-1], "DELETE"):
			changed = "DELETE " + table
		case word == "FROM" && read == "":
			read = "SELECT " + table
		}
	}
	switch {
	case changed != "":
		return changed
	case read != "":
		return read
	case len(words) > 0:
		return words[0]
	}
	return "statement"
}

// name returns a table's name without quotes, "" for anything else, such as a subquery.
func name(word string) string {
	word = strings.Trim(word, `"`+"`")
	for i, r := range word {
		if (r < 'a' || r > 'z') && r != '_' {
			return strings.Trim(word[:i], `"`)
		}
	}
	return word
}

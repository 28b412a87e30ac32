package db_test

import (
	"context"
	"slices"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/tracing"
)

func traced(t *testing.T, f func(context.Context)) (names []string, spans tracetest.SpanStubs) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	ctx, root := tracing.Tracer(p).Start(context.Background(), "root")
	f(ctx)
	root.End()
	for _, s := range kept.GetSpans() {
		if s.Name != "root" {
			names = append(names, s.Name)
			spans = append(spans, s)
			require.Equal(t, root.SpanContext().TraceID(), s.SpanContext.TraceID())
		}
	}
	return names, spans
}

func withOwner(ctx context.Context, owner uuid.UUID) context.Context {
	return tenant.With(ctx, tenant.Store{ID: owner, Currency: "XAF", Country: "CM"}, tenant.Actor{Type: tenant.ActorOperator,
		Name: "operator"})
}

// shown returns all texts of a span: its name, its status and its attributes.
func shown(s tracetest.SpanStub) string {
	all := s.Name + s.Status.Description
	for _, a := range s.Attributes {
		all += " " + string(a.Key) + "=" + a.Value.String()
	}
	return all
}

func TestATransactionIsTraced(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		const slug = "canary-value"
		owner := uuid.New()
		names, spans := traced(t, func(ctx context.Context) {
			require.NoError(t, hook.Run(withOwner(ctx, owner), d, func(c *hook.Change) error {
				return newStore(c, slug, d.Now()).SetID(owner).Exec(c)
			}))
		})
		want := []string{"BEGIN", "INSERT stores", "INSERT activity_entries", "journal", "COMMIT", "transaction"}
		const journal = 2
		require.Equal(t, want, names)
		system := map[string]string{dialect.Postgres: "postgresql", dialect.SQLite: "sqlite"}[d.Dialect()]
		require.Contains(t, shown(spans[journal]), "db.system.name="+system)
		require.Contains(t, shown(spans[journal]), "INTO "+map[string]string{dialect.Postgres: `"activity_entries"`,
			dialect.SQLite: "`activity_entries`"}[d.Dialect()])
		for _, made := range spans {
			require.NotContains(t, shown(made), slug, "values stay out")
			require.Equal(t, codes.Unset, made.Status.Code)
		}
	})
}

func TestARefusedStatementIsTracedWithoutItsValues(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		addStore(t, d, "canary-value", d.Now())
		owner := uuid.New()
		names, spans := traced(t, func(ctx context.Context) {
			require.Error(t, hook.Run(withOwner(ctx, owner), d, func(c *hook.Change) error {
				return newStore(c, "canary-value", d.Now()).SetID(owner).Exec(c)
			}))
		})
		require.Equal(t, slices.Repeat([]string{"BEGIN", "INSERT stores", "ROLLBACK", "transaction"}, 5), names, "five runs")
		for _, made := range spans {
			require.NotContains(t, shown(made), "canary-value")
		}
		require.Equal(t, codes.Error, spans[1].Status.Code)
		require.Equal(t, codes.Unset, spans[2].Status.Code)
		require.Equal(t, codes.Error, spans[3].Status.Code)
		if d.Dialect() == dialect.Postgres {
			require.Contains(t, shown(spans[1]), "db.response.status_code=23505")
		}
	})
}

func TestAQuerysSpanEndsWithItsRows(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		kept := tracetest.NewInMemoryExporter()
		ctx, _ := tracing.Tracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))).Start(t.Context(), "root")
		rows, err := d.Reader().QueryContext(ctx, "SELECT name FROM stores WHERE slug = $1", "x")
		require.NoError(t, err)
		require.Empty(t, kept.GetSpans())
		require.NoError(t, rows.Close())
		require.NoError(t, rows.Err())
		require.Equal(t, "SELECT stores", kept.GetSpans()[0].Name)
	})
}

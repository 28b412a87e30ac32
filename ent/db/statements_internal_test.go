package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"testing"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"
)

type fakeConn struct {
	innerConn
	prepared, closed []string
	fail             error // nil for success
}

func (f *fakeConn) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f *fakeConn) Driver() driver.Driver                        { return nil }
func (f *fakeConn) Close() error                                 { return nil }
func (f *fakeConn) IsValid() bool                                { return true }
func (f *fakeConn) ResetSession(context.Context) error           { return nil }
func (f *fakeConn) Commit() error                                { return nil }
func (f *fakeConn) Rollback() error                              { return nil }

func (f *fakeConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return f, nil }

func (f *fakeConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	f.prepared = append(f.prepared, query)
	return &fakeStmt{conn: f, query: query}, nil
}

type fakeStmt struct {
	conn  *fakeConn
	query string
}

func (s *fakeStmt) Close() error {
	s.conn.closed = append(s.conn.closed, s.query)
	return nil
}
func (s *fakeStmt) NumInput() int                              { return -1 }
func (s *fakeStmt) Exec([]driver.Value) (driver.Result, error) { panic("without a context") }
func (s *fakeStmt) Query([]driver.Value) (driver.Rows, error)  { panic("without a context") }

func (s *fakeStmt) ExecContext(context.Context, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, s.conn.fail
}

func (s *fakeStmt) QueryContext(context.Context, []driver.NamedValue) (driver.Rows, error) {
	return &fakeRows{}, s.conn.fail
}

type fakeRows struct{}

func (*fakeRows) Columns() []string         { return []string{"n"} }
func (*fakeRows) Close() error              { return nil }
func (*fakeRows) Next([]driver.Value) error { return io.EOF }

func connect(t *testing.T, f *fakeConn, kept int, remote bool) *conn {
	t.Helper()
	c := &connector{Connector: f, cacheSize: kept, remote: remote}
	got, err := c.Connect(context.Background())
	require.NoError(t, err)
	return got.(*conn)
}

var oneArg = []driver.NamedValue{{Ordinal: 1, Value: int64(1)}}

func exec(t *testing.T, c *conn, query string) {
	t.Helper()
	_, err := c.ExecContext(context.Background(), query, oneArg)
	require.NoError(t, err)
}

func TestAnEvictedStatementIsClosedOnceItsRowsAre(t *testing.T) {
	t.Parallel()
	f := &fakeConn{}
	c := connect(t, f, 1, false)
	rows, err := c.QueryContext(context.Background(), "a", oneArg)
	require.NoError(t, err)
	exec(t, c, "b")
	require.Empty(t, f.closed, "a is still read")
	require.NoError(t, rows.Close())
	require.Equal(t, []string{"a"}, f.closed)
	require.NoError(t, rows.Close(), "closing twice does nothing")
	require.Equal(t, []string{"a"}, f.closed)
}

func TestAStaleStatementDropsItsConnection(t *testing.T) {
	t.Parallel()
	for name, stale := range map[string]*pq.Error{
		"a migration changed its columns":              {Code: "0A000", Routine: "RevalidateCachedQuery"},
		"a pooler gave the connection another session": {Code: "26000", Message: `prepared statement "1" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeConn{}
			c := connect(t, f, 10, true)
			require.True(t, c.IsValid())
			f.fail = stale
			_, err := c.QueryContext(context.Background(), "a", oneArg)
			require.Equal(t, driver.ErrBadConn, err, "database/sql runs it elsewhere")
			require.False(t, c.IsValid())
			require.Equal(t, driver.ErrBadConn, c.ResetSession(context.Background()))
		})
		t.Run(name+", in a transaction", func(t *testing.T) {
			t.Parallel()
			f := &fakeConn{fail: stale}
			c := connect(t, f, 10, true)
			tx, err := c.BeginTx(context.Background(), driver.TxOptions{Isolation: driver.IsolationLevel(sql.LevelDefault)})
			require.NoError(t, err)
			_, err = c.ExecContext(context.Background(), "a", oneArg)
			require.ErrorIs(t, err, stale, "the transaction is lost, so the caller must get the error")
			require.True(t, isRetryable(err))
			require.NoError(t, tx.Rollback())
			require.False(t, c.IsValid())
		})
	}
}

func TestAConnectionWhoseQueryWasCancelledIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	c := connect(t, &fakeConn{}, 10, true)
	ctx, cancel := context.WithCancel(context.Background())
	rows, err := c.QueryContext(ctx, "a", oneArg)
	require.NoError(t, err)
	cancel()
	require.NoError(t, rows.Close())
	require.False(t, c.IsValid())
}

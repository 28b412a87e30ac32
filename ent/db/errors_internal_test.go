package db

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"github.com/stretchr/testify/require"
)

// The texts are German, as with lc_messages=de_DE.UTF-8.
func TestPostgresErrorsAreTakenByCodeAndRoutine(t *testing.T) {
	t.Parallel()
	type kinds struct{ unreachable, lost, stale, retryable bool }
	for name, row := range map[string]struct {
		code, routine, text string
		want                kinds
	}{
		"a read-only transaction": {"25006", "PreventCommandIfReadOnly", "kann INSERT nicht in einer Read-Only-Transaktion ausführen",
			kinds{unreachable: true, lost: true}},
		"a lock on a standby": {"25006", "PreventCommandDuringRecovery",
			"kann LOCK TABLE nicht während der Wiederherstellung ausführen",
			kinds{unreachable: true, lost: true}},
		"an unlogged table on a standby": {"0A000", "get_relation_info",
			"während der Wiederherstellung kann nicht auf ungeloggte Relationen zugegriffen werden",
			kinds{unreachable: true, lost: true}},
		"a serializable transaction on a standby": {"0A000", "call_enum_check_hook",
			"kann serialisierbaren Modus nicht in einem Hot Standby verwenden",
			kinds{unreachable: true, lost: true}},
		"a transaction that is to write on a standby": {"0A000", "call_bool_check_hook", "kann den Read-Write-Modus nicht setzen",
			kinds{unreachable: true, lost: true}},
		"a cached plan whose result changed": {"0A000", "RevalidateCachedQuery", "gecachter Plan darf den Ergebnistyp nicht ändern",
			kinds{unreachable: true, stale: true, retryable: true}},
		"what PostgreSQL cannot do": {"0A000", "transformSelectStmt", "wird nicht unterstützt", kinds{}},
		"a statement that nobody prepared": {"26000", "FetchPreparedStatement", "vorbereitete Anweisung existiert nicht",
			kinds{unreachable: true, stale: true, retryable: true}},
		"another client's statement": {"08P01", "exec_bind_message", "Bind-Nachricht enthält 2 Parameter",
			kinds{unreachable: true, stale: true, retryable: true}},
		"a statement of a name that is taken": {"42P05", "StorePreparedStatement", "vorbereitete Anweisung existiert bereits",
			kinds{unreachable: true, stale: true, retryable: true}},
		"a table that is not there":       {"42P01", "parserOpenTable", "Relation existiert nicht", kinds{unreachable: true}},
		"a row that a constraint refuses": {"23514", "ExecConstraints", "verletzt Check-Constraint", kinds{}},
		"a full disk": {"53100", "mdextend",
			"konnte Datei nicht erweitern: Auf dem Gerät ist kein Speicherplatz mehr verfügbar", kinds{unreachable: true}},
		"no memory": {"53200", "AllocSetAlloc", "Speicher aufgebraucht", kinds{unreachable: true}},
		"too many connections": {"53300", "InitProcess", "tut mir leid, schon zu viele Clients",
			kinds{unreachable: true}},
		"a disk that does not write": {"58030", "mdwrite", "konnte nicht schreiben", kinds{unreachable: true}},
		"a server that ends its sessions": {"57P01", "ProcessInterrupts", "Verbindung wird abgebrochen", kinds{unreachable: true,
			lost: true}},
		"a server after a crash": {"57P02", "quickdie", "Verbindung wird abgebrochen", kinds{unreachable: true,
			lost: true}},
		"a server that starts": {"57P03", "ProcessStartupPacket", "das Datenbanksystem startet",
			kinds{unreachable: true, lost: true}},
		"a connection that failed":              {"08006", "", "Verbindungsfehler", kinds{unreachable: true}},
		"a unique index that refuses a row":     {"23505", "_bt_check_unique", "doppelter Schlüsselwert", kinds{}},
		"a transaction that lost":               {"40001", "heap_update", "konnte Zugriff nicht serialisieren", kinds{retryable: true}},
		"a statement that cannot be understood": {"42601", "scanner_yyerror", "Syntaxfehler", kinds{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := error(&pq.Error{Code: pqerror.Code(row.code), Routine: row.routine, Message: row.text, Severity: "ERROR"})
			require.Equal(t, row.want, kinds{IsUnreachable(err), isLost(err), isStale(err), isRetryable(err)})
			if row.want.lost {
				c := connect(t, &fakeConn{fail: err}, 5, true)
				_, got := c.ExecContext(t.Context(), "INSERT INTO t VALUES ($1)", oneArg)
				require.ErrorIs(t, got, err)
				require.False(t, c.IsValid(), "the connection is dropped")
			}
		})
	}
}

func TestAConnectionThatDoesNotComeAboutIsTheDatabaseBeingAway(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"no server of several writes": errors.New("pq: could not connect to any of the hosts:\nconnecting to a:1: session is " +
			"read-only\nconnecting to b:2: server is in hot standby mode"),
		"another password": &pq.Error{Code: "28P01", Message: "Passwort-Authentifizierung fehlgeschlagen", Severity: "FATAL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connector{Connector: refusing{err: err}}
			_, got := c.Connect(t.Context())
			require.ErrorIs(t, got, err)
			require.True(t, IsUnreachable(got))
			require.NotContains(t, got.Error(), "\n")
		})
	}
}

type refusing struct {
	driver.Connector
	err error
}

func (r refusing) Connect(ctx context.Context) (driver.Conn, error) { return nil, r.err }

func TestACommitWithoutItsStandbyIsAnError(t *testing.T) {
	t.Parallel()
	c := connect(t, &fakeConn{}, 5, true)
	// PostgreSQL commits on the primary and sends this warning. Commit must return an error.
	tx, err := c.BeginTx(t.Context(), driver.TxOptions{})
	require.NoError(t, err)
	c.handleNotice(&pq.Error{Code: "01000", Routine: "SyncRepWaitForLSN", Message: "Warten auf synchrone Replikation wird storniert",
		Severity: "WARNING"})
	require.ErrorIs(t, tx.Commit(), errNotReplicated)
	require.True(t, IsUnreachable(errNotReplicated))
	require.False(t, isRetryable(errNotReplicated), "it is committed")

	tx, err = c.BeginTx(t.Context(), driver.TxOptions{})
	require.NoError(t, err)
	c.handleNotice(&pq.Error{Code: "01000", Routine: "ExecuteTruncate", Severity: "WARNING"})
	require.NoError(t, tx.Commit(), "other warnings are none of ours")
}

func TestACertificateOfAnUnknownAuthorityHasItsRemedy(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	_, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{})
	require.ErrorContains(t, withHint(&connectError{err}), "sslrootcert=FILE")
}

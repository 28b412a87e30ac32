package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/shard"
)

func TestWhatANodeReportsIsJudged(t *testing.T) {
	t.Parallel()
	coordinator := shard.Health{Node: "c:5432", Extension: "13.2"}
	for _, at := range []struct {
		worker shard.Health
		status Status
		says   string
	}{
		{shard.Health{Node: "w:5432", Extension: "13.2", LockTimeout: time.Second}, OK, "2 nodes, citus 13.2"},
		{shard.Health{Node: "w:5432", Refusal: "connection refused"}, Fail, "w:5432 does not answer: connection refused"},
		{shard.Health{Node: "w:5432", Extension: "12.1", LockTimeout: time.Second}, Fail, "w:5432 has citus 12.1, and c:5432 has 13.2"},
		{shard.Health{Node: "w:5432", Extension: "13.2", LockTimeout: time.Second, Prepared: 2}, Fail,
			"2 transactions prepared on w:5432"},
		{shard.Health{Node: "w:5432", Extension: "13.2", LockTimeout: time.Second, Skew: 3 * time.Second}, Warn,
			"clock of w:5432 is 3s"},
		{shard.Health{Node: "w:5432", Extension: "13.2", LockTimeout: time.Second, Connections: 81, MaxConnections: 100}, Warn,
			"w:5432 has 81 connections of 100"},
		{shard.Health{Node: "w:5432", Extension: "13.2", LockTimeout: time.Second, Slots: 1}, Warn,
			"1 unused replication slot on w:5432"},
		{shard.Health{Node: "w:5432", Extension: "13.2"}, Warn, "on w:5432 statements wait for locks without end"},
	} {
		found := nodesFinding([]shard.Health{coordinator, at.worker})
		require.Equal(t, at.status, found.Status, found.Message)
		require.Contains(t, found.Message, at.says)
		require.Equal(t, at.status == OK, found.Remedy == "")
	}
}

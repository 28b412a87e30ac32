package db

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Of the function uuid_hash in PostgreSQL 15.
func TestHashIsThatOfPostgreSQL(t *testing.T) {
	t.Parallel()
	for id, hashed := range map[string]int32{
		"00000000-0000-0000-0000-000000000000": 1353656403,
		"ffffffff-ffff-ffff-ffff-ffffffffffff": -682383255,
		"0198c5ab-7a11-7bcd-8e2f-5d1c3a9b7e64": -380600522,
		"2f1c8a30-9d4e-4b6f-a1b2-c3d4e5f60718": 328961730,
	} {
		require.Equal(t, hashed, hash(uuid.MustParse(id)), id)
	}
}

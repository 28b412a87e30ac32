package tenant_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/tenant"
)

// The expected buckets are of another implementation: python3 -c 'import hashlib, uuid; …'.
func TestBucket(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"00000000-0000-0000-0000-000000000000": "gd",
		"0199c1a0-0000-7000-8000-000000000001": "vc",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "XI",
	} {
		require.Equal(t, want, tenant.Bucket(uuid.MustParse(id)), id)
	}
	seen := map[string]bool{}
	for range 60_000 {
		seen[tenant.Bucket(uuid.Must(uuid.NewV7()))] = true
	}
	require.Len(t, seen, 3844, "stores that are created lie in every bucket")
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text     string
		in, out  []string
		accepted bool
	}{
		{"", []string{"00", "aB", "zz"}, nil, true},
		{"7Q", []string{"7Q"}, []string{"7P", "7q", "7R", ""}, true},
		{"00-Kz", []string{"00", "9z", "A0", "Kz"}, []string{"L0", "a0", "zz"}, true},
		{"00-7P, 7R-Kz,zz", []string{"00", "7P", "7R", "Kz", "zz"}, []string{"7Q", "L0", "zy"}, true},
		{"00-zz", []string{"00", "Zz", "a0", "zz"}, nil, true},
		{"7", nil, nil, false},
		{"7Q7", nil, nil, false},
		{"00-", nil, nil, false},
		{"-zz", nil, nil, false},
		{"00-Kz-zz", nil, nil, false},
		{"00,,zz", nil, nil, false},
		{"é", nil, nil, false},
		{"a0-Z9", nil, nil, false}, // in ASCII order, a comes after Z
		{"none", nil, nil, false},
	} {
		b := tenant.Buckets("before")
		if err := b.UnmarshalText([]byte(row.text)); !row.accepted {
			require.Error(t, err, row.text)
			require.EqualValues(t, "before", b, row.text)
			continue
		}
		for _, bucket := range row.in {
			require.True(t, b.Has(bucket), "%q has %s", row.text, bucket)
		}
		for _, bucket := range row.out {
			require.False(t, b.Has(bucket), "%q does not have %s", row.text, bucket)
		}
	}
}

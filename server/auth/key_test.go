package auth_test

import (
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/server/auth"
)

// The checksums were computed with other code for CRC-32 and base 62.
const (
	zeroes   = "svc_live_0000000000000000000000000000000000003RmtK1"
	alphabet = "svc_live_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ2NnVJ7"
)

func TestWellFormed(t *testing.T) {
	t.Parallel()
	key := auth.NewKey(uuid.New())
	for _, row := range []struct {
		reason string
		key    string
		want   bool
	}{
		{"a new key", key, true},
		{"a key of before there were buckets, with a checksum computed elsewhere", zeroes, true},
		{"another one", alphabet, true},
		{"nothing", "", false},
		{"the prefix alone", auth.Prefix, false},
		{"a test key: there is no test mode", strings.Replace(key, "live", "test", 1), false},
		{"a prefix in another case", "SVC_LIVE_" + key[9:], false},
		{"one character short", key[:len(key)-1], false},
		{"one character more", key + "0", false},
		{"white space is not trimmed here", " " + key[1:], false},
		{"a character that is no digit, with a checksum that is right", checked("svc_live_" + strings.Repeat("-", 36)), false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			require.Equal(t, row.want, auth.WellFormed(row.key))
		})
	}
}

// checked computes the checksum in another way than the package.
func checked(text string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum, checksum := int64(crc32.ChecksumIEEE([]byte(text))), ""
	for range 6 {
		checksum = string(digits[sum%62]) + checksum
		sum /= 62
	}
	return text + checksum
}

func TestNewKey(t *testing.T) {
	t.Parallel()
	const keys = 4000
	seen := map[string]bool{}
	counts := map[byte]int{}
	for range keys {
		store := uuid.New()
		key := auth.NewKey(store)
		require.True(t, auth.WellFormed(key))
		require.Equal(t, checked(key[:45]), key)
		require.False(t, seen[key], "no key twice")
		seen[key] = true
		require.Equal(t, tenant.Bucket(store), key[9:11])
		for i := 11; i < 45; i++ {
			counts[key[i]]++
		}
	}
	// Each digit occurs 2193 times on average, with a standard deviation of 46. With the remainders of all bytes, the first
	// eight would occur 2656 times.
	const mean = keys * 34 / 62
	require.Len(t, counts, 62)
	for digit, count := range counts {
		require.InDelta(t, mean, count, 7*46, "digit %c", digit)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	// This is the example of FIPS 180-2, B.1.
	require.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		fmt.Sprintf("%x", auth.Fingerprint("abc")))
}

func TestHint(t *testing.T) {
	t.Parallel()
	require.Equal(t, "svc_live_...mtK1", auth.Hint(zeroes))
	for _, text := range []string{"", "x", "some other secret", zeroes[:50]} {
		require.Equal(t, "svc_live_...", auth.Hint(text), "what is no key may be another secret")
	}
}

func FuzzWellFormed(f *testing.F) {
	f.Add(zeroes, uint8(0), uint8('x'))
	f.Add(alphabet, uint8(50), uint8('0'))
	f.Add("svc_live_", uint8(3), uint8(0xff))
	f.Add("", uint8(0), uint8(0))
	f.Add(strings.Repeat("\x00", 51), uint8(20), uint8(' '))
	f.Fuzz(func(t *testing.T, key string, at, replacement uint8) {
		hint := auth.Hint(key)
		if !auth.WellFormed(key) {
			require.Equal(t, "svc_live_...", hint)
			return
		}
		require.Equal(t, checked(key[:45]), key)
		require.Equal(t, key[47:], hint[len(hint)-4:])
		changed := []byte(key)
		changed[int(at)%len(key)] = replacement
		require.Equal(t, string(changed) == key, auth.WellFormed(string(changed)), "every change of one character is found")
	})
}

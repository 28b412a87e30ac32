package signature_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/worker/signature"
)

var (
	noon   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	body   = []byte(`{"id":"0198c1f0-0000-7000-8000-000000000001","type":"ping"}`)
	secret = signature.SecretPrefix + "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
)

// The headers in signed.json were computed with Python's hmac and hashlib. Bodies are in base64.
func TestSignMakesTheHeaders(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/signed.json")
	require.NoError(t, err)
	var vectors []struct {
		Reason, Secret, Header string
		Seconds                int64
		Body                   []byte
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		at := time.Unix(v.Seconds, 999_999_999)
		require.Equal(t, v.Header, signature.Sign(v.Secret, at, v.Body), v.Reason)
		require.NoError(t, signature.Verify(v.Header, v.Body, v.Secret, at, 0), v.Reason)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	signed := signature.Sign(secret, noon, body)
	seconds, sum, _ := strings.Cut(signed, ",")
	other := "v1=" + strings.Repeat("0", 64)
	for _, row := range []struct {
		reason string
		header string
		body   []byte
		secret string
		now    time.Time
		want   error
	}{
		{"as it was sent", signed, body, secret, noon, nil},
		{"the last tolerated second", signed, body, secret, noon.Add(signature.Tolerance), nil},
		{"fractions of a second do not count", signed, body, secret, noon.Add(signature.Tolerance + time.Second - 1), nil},
		{"a receiver whose clock is behind", signed, body, secret, noon.Add(-signature.Tolerance), nil},
		{"one second too old", signed, body, secret, noon.Add(signature.Tolerance + time.Second), signature.ErrTimestamp},
		{"one second too far ahead", signed, body, secret, noon.Add(-signature.Tolerance - time.Second), signature.ErrTimestamp},
		{"a changed body", signed, append([]byte(" "), body...), secret, noon, signature.ErrMismatch},
		{"a body cut short", signed, body[:len(body)-1], secret, noon, signature.ErrMismatch},
		{"another secret", signed, body, signature.NewSecret(), noon, signature.ErrMismatch},
		{"the secret without its prefix", signed, body, secret[len(signature.SecretPrefix):], noon, signature.ErrMismatch},
		{"a time that was not signed", strings.Replace(signed, "t=1", "t=2", 1), body, secret, noon, signature.ErrMismatch},
		{"an old time and a wrong signature: the signature is what is wrong", "t=1," + other, body, secret, noon,
			signature.ErrMismatch},
		{"several signatures, the last one right", seconds + "," + other + "," + sum, body, secret, noon, nil},
		{"several signatures, the first one right", signed + "," + other, body, secret, noon, nil},
		{"several signatures, none right", seconds + "," + other + "," + other, body, secret, noon, signature.ErrMismatch},
		{"signatures of another scheme beside ours", seconds + ",v0=abc," + sum + ",v2=def", body, secret, noon, nil},
		{"the order of the parts is free", sum + "," + seconds, body, secret, noon, nil},
		{"another scheme alone", seconds + ",v0=" + sum[3:], body, secret, noon, signature.ErrNoSignature},
		{"upper-case hex is not what was agreed", seconds + ",v1=" + strings.ToUpper(sum[3:]), body, secret, noon,
			signature.ErrMismatch},
		{"a signature cut short", signed[:len(signed)-1], body, secret, noon, signature.ErrMismatch},
		{"no header", "", body, secret, noon, signature.ErrNoSignature},
		{"no time", sum, body, secret, noon, signature.ErrNoSignature},
		{"no signature", seconds, body, secret, noon, signature.ErrNoSignature},
		{"two times leave open which one is signed", seconds + "," + signed, body, secret, noon, signature.ErrNoSignature},
		{"a time that is no number", "t=now," + sum, body, secret, noon, signature.ErrNoSignature},
		{"a time beyond 64 bits", "t=9223372036854775808," + sum, body, secret, noon, signature.ErrNoSignature},
		{"a padded time", "t=0" + seconds[2:] + "," + sum, body, secret, noon, signature.ErrNoSignature},
		{"a time with a sign", "t=+" + seconds[2:] + "," + sum, body, secret, noon, signature.ErrNoSignature},
		{"white space", seconds + ", " + sum, body, secret, noon, signature.ErrNoSignature},
		{"a header too long to read", signed + "," + strings.Repeat("x", signature.MaxHeaderBytes), body, secret, noon,
			signature.ErrNoSignature},
	} {
		t.Run(row.reason, func(t *testing.T) {
			err := signature.Verify(row.header, row.body, row.secret, row.now, signature.Tolerance)
			require.ErrorIs(t, err, row.want)
		})
	}
}

func TestVerifyAcceptsWhatSignMade(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := signature.SecretPrefix + rapid.String().Draw(t, "secret")
		at := time.Unix(rapid.Int64Range(-1e12, 1e12).Draw(t, "seconds"), 0)
		sent := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		header := signature.Sign(key, at, sent)
		off := time.Duration(rapid.Int64Range(-int64(signature.Tolerance), int64(signature.Tolerance)).Draw(t, "off"))
		require.NoError(t, signature.Verify(header, sent, key, at.Add(off.Truncate(time.Second)), signature.Tolerance))

		changed := append([]byte{}, sent...)
		changed = append(changed, rapid.Byte().Draw(t, "more"))
		require.ErrorIs(t, signature.Verify(header, changed, key, at, signature.Tolerance), signature.ErrMismatch)
	})
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		text := signature.NewSecret()
		require.Regexp(t, `^whsec_[A-Za-z0-9_-]{43}$`, text)
		random, err := base64.RawURLEncoding.DecodeString(text[len(signature.SecretPrefix):])
		require.NoError(t, err)
		require.Len(t, random, 32)
		require.False(t, seen[text], "no secret twice")
		seen[text] = true
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(signature.Sign(secret, noon, body))
	f.Add(signature.Sign(secret, noon, body) + ",v1=00,v0=11")
	f.Add("t=1795262400,v1=")
	f.Add("t=-1,v1=zz")
	f.Add("t=,t=,v1=")
	f.Add(",,,")
	f.Add("")
	right := strings.SplitN(signature.Sign(secret, noon, body), ",", 2)
	f.Fuzz(func(t *testing.T, header string) {
		err := signature.Verify(header, body, secret, noon, signature.Tolerance)
		if err != nil {
			require.Contains(t, []error{signature.ErrNoSignature, signature.ErrMismatch, signature.ErrTimestamp}, err)
			return
		}
		// No header has a right signature by chance, so an accepted one contains our time and signature.
		require.Subset(t, strings.Split(header, ","), right)
	})
}

func BenchmarkSign(b *testing.B) {
	payload := []byte(strings.Repeat("x", 760))
	b.ReportAllocs()
	for b.Loop() {
		_ = signature.Sign(secret, noon, payload)
	}
}

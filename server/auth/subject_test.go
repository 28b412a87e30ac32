package auth

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestReadSubject(t *testing.T) {
	t.Parallel()
	key, store := uuid.New(), uuid.New()
	parts := []string{
		key.String(), "the till", `["orders:read", "store:read"]`, "1790000000000", "",
		store.String(), "atelier", "XAF", "CM", "open", "t", "[]", "2.5",
	}
	text := func(change func([]string)) string {
		p := append([]string(nil), parts...)
		change(p)
		return strings.Join(p, subjectSeparator)
	}
	s, err := readSubject(text(func([]string) {}))
	require.NoError(t, err)
	require.Equal(t, Principal{KeyID: key, KeyName: "the till", Scopes: []string{"orders:read", "store:read"},
		Store: s.principal.Store}, s.principal)
	require.Equal(t, store, s.principal.Store.ID)
	require.Equal(t, []any{"atelier", "XAF", "CM", "open", true, 2.5, int64(1790000000000), int64(0)}, []any{
		s.principal.Store.Slug, s.principal.Store.Currency, s.principal.Store.Country, s.principal.Store.Status,
		s.principal.Store.PaymentLinksOpen, s.principal.Store.PlatformFeePercent, s.expires, s.revoked,
	})
	require.Empty(t, s.principal.Store.UnavailableTypes)

	s, err = readSubject(text(func(p []string) { p[10], p[11], p[4] = "f", `["MEETING","EVENT"]`, "5" }))
	require.NoError(t, err)
	require.False(t, s.principal.Store.PaymentLinksOpen)
	require.Equal(t, []string{"MEETING", "EVENT"}, s.principal.Store.UnavailableTypes)
	require.EqualValues(t, 5, s.revoked)

	for reason, broken := range map[string]string{
		"too few parts":             strings.Join(parts[1:], subjectSeparator),
		"too many parts":            strings.Join(append(parts, ""), subjectSeparator),
		"a key's id that is none":   text(func(p []string) { p[0] = "x" }),
		"a store's id that is none": text(func(p []string) { p[5] = "" }),
		"scopes that are no list":   text(func(p []string) { p[2] = "orders:read" }),
		"a time that is none":       text(func(p []string) { p[3] = "soon" }),
		"a fee that is none":        text(func(p []string) { p[12] = "" }),
	} {
		_, err := readSubject(broken)
		require.Error(t, err, reason)
	}
}

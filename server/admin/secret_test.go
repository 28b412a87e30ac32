package admin_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/seal"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/transfer/transfertest"
	"go.storefront.example/server/webhooks"
	"go.storefront.example/worker/signature"
)

func sealing(t *testing.T, d *db.DB) *admin.Operator {
	t.Helper()
	return admin.New(d, admin.Options{Webhooks: webhooks.Options{Secrets: sealingRing(t)}})
}

func sealingRing(t *testing.T) *seal.Keyring {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return seal.NewKeyring(key)
}

func withSecrets(t *testing.T, o admin.API, store string) kept {
	t.Helper()
	k := kept{lines: map[string][]byte{}}
	require.NoError(t, o.Export(t.Context(), &adminv1.ExportStoreRequest{Store: store, WithSecrets: true},
		func(in *adminv1.ExportStoreResponse) error {
			k.lines[in.GetKind()] = append(k.lines[in.GetKind()], in.GetLines()...)
			k.at = in.GetExportedAt()
			return nil
		}))
	return k
}

func (k kept) loadSecrets(t *testing.T, o admin.API, store string) (stored int) {
	t.Helper()
	for _, kind := range transfer.SecretKinds {
		n, err := transfertest.Rows(t.Context(), o, store, kind, k.lines[string(kind)])
		require.NoError(t, err)
		stored += n
	}
	return stored
}

// Into an installation with another secret key. An export without secrets has no keys and webhooks.
func TestKeysAndWebhooksAreTakenOver(t *testing.T) {
	t.Parallel()
	for _, way := range [][2]string{{dbtest.SQLite, dbtest.Postgres}, {dbtest.Postgres, dbtest.SQLite}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			d := dbtest.New(t, way[0], db.Config{})
			from := sealing(t, d)
			made, err := from.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
			require.NoError(t, err)
			var secrets []string
			for i := range webhooks.Max {
				w, err := from.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Store: "s", Url: fmt.Sprintf("https://example.com/%d", i),
					Description: "d", Events: []string{"order.paid", "customer.created"}})
				require.NoError(t, err)
				secrets = append(secrets, w.GetSecret())
				if i == 1 {
					_, err := from.DisableWebhook(ctx, &adminv1.DisableWebhookRequest{Id: w.GetWebhook().GetId()})
					require.NoError(t, err)
				} else if i == 2 {
					_, err := d.Writer().ExecContext(ctx, "UPDATE webhooks SET failing_since = created_at WHERE id = $1",
						uuid.MustParse(w.GetWebhook().GetId()))
					require.NoError(t, err)
				}
			}
			var fingerprints []string
			for i := range shop.MaxActiveKeys + 2 { // two of these keys become inactive below
				k, err := from.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "s", Name: "k", Scopes: []string{"store:read", "orders:read"},
					Lifetime: adminv1.Key_DAYS_30})
				require.NoError(t, err)
				sum := auth.Fingerprint(k.GetSecret())
				fingerprints = append(fingerprints, hex.EncodeToString(sum[:]))
				switch i {
				case 0:
					_, err = from.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Id: k.GetKey().GetId()})
				case 1:
					_, err = d.Writer().ExecContext(ctx, "UPDATE api_keys SET expires_at = $1, last_used_at = $1 WHERE id = $2",
						time.UnixMilli(4_000_000_000).UTC(), uuid.MustParse(k.GetKey().GetId()))
				}
				require.NoError(t, err)
			}
			_, err = d.Writer().ExecContext(ctx, "UPDATE api_keys SET created_at = $1", time.UnixMilli(3_000_000_000).UTC())
			require.NoError(t, err)

			exported, plain := withSecrets(t, from, "s"), exportOf(t, from, "s")
			for _, secret := range append(append([]string{"fingerprint", signature.SecretPrefix}, secrets...), fingerprints...) {
				for kind, lines := range plain.lines {
					require.NotContains(t, string(lines), secret, kind)
				}
			}
			for i, secret := range append(secrets, fingerprints...) {
				kind := map[bool]string{true: "webhooks", false: "keys"}[i < len(secrets)]
				require.Contains(t, string(exported.lines[kind]), secret)
			}
			for _, registered := range []bool{false, true} {
				to := sealing(t, dbtest.New(t, way[1], db.Config{}))
				if registered {
					_, err := to.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "T", Slug: "t", Currency: "XAF", Country: "CM"})
					require.NoError(t, err)
				}
				exported.importInto(t, to, "t", !registered)
				require.Equal(t, len(secrets)+len(fingerprints), exported.loadSecrets(t, to, "t"))
				require.Zero(t, exported.loadSecrets(t, to, "t"), "again: nothing twice")
				again := withSecrets(t, to, "t")
				require.Equal(t, string(exported.lines["webhooks"]), string(again.lines["webhooks"]))
				require.Equal(t, string(exported.lines["keys"]), string(again.lines["keys"]))
				id, err := to.GetStore(shoptest.In(t, ctx, to, "t"), &storefrontv1.GetStoreRequest{})
				require.NoError(t, err)
				require.Equal(t, !registered, id.GetId() == made.GetId())
				_, err = to.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "t", Name: "k", Scopes: []string{"store:read"},
					Lifetime: adminv1.Key_NEVER})
				require.Equal(t, apierr.APIKeyLimit, codeOf(err))
			}

			unsealed := admin.New(dbtest.New(t, way[1], db.Config{}), admin.Options{})
			request := exported.request(t, "t", true)
			request.WithSecrets = true
			_, err = unsealed.ImportStore(ctx, request)
			require.Equal(t, apierr.SecretKeyMissing, codeOf(err), "before anything is stored")
			_, err = unsealed.WithStore(ctx, "t")
			require.Equal(t, apierr.StoreNotFound, codeOf(err))
			for _, o := range []*admin.Operator{admin.New(d, admin.Options{}), sealing(t, d)} {
				err := o.Export(ctx, &adminv1.ExportStoreRequest{Store: "s", WithSecrets: true}, func(*adminv1.ExportStoreResponse) error { return nil })
				require.Equal(t, apierr.SecretKeyMissing, codeOf(err), "no key, or another one")
			}
		})
	}
}

// They are refused to members, and to callers over the network without the token.
func TestSecretsAreTheOperatorsOnly(t *testing.T) {
	t.Parallel()
	o := sealing(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	_, err := o.CreateStore(t.Context(), &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	within, err := o.WithStore(tenant.WithMember(t.Context(), "Awa"), "s")
	require.NoError(t, err)
	pass := func(*adminv1.ExportStoreResponse) error { return nil }
	for name, ctx := range map[string]context.Context{"a member's session": within, "a member": tenant.WithMember(t.Context(), "Awa"),
		"no token": tenant.WithCall(t.Context(), tenant.Call{Tokenless: true})} {
		require.Equal(t, apierr.OriginRefused, codeOf(o.Export(ctx, &adminv1.ExportStoreRequest{Store: "s", WithSecrets: true}, pass)), name)
		require.NoError(t, o.Export(ctx, &adminv1.ExportStoreRequest{Store: "s"}, pass), name)
	}
	require.NoError(t, o.Export(t.Context(), &adminv1.ExportStoreRequest{Store: "s", WithSecrets: true}, pass))
}

// Imported keys and webhooks must meet the rules for new ones, and must not conflict with existing rows.
func TestRowsWithSecretsAreChecked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		o := sealing(t, d)
		ids := map[string]string{}
		for _, slug := range []string{"a", "b"} {
			made, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "S", Slug: slug, Currency: "XAF", Country: "CM"})
			require.NoError(t, err)
			ids[slug] = made.GetId()
		}
		taken, err := o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: "b", Name: "k", Scopes: []string{"store:read"},
			Lifetime: adminv1.Key_NEVER})
		require.NoError(t, err)
		hooked, err := o.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Store: "b", Url: "https://example.com"})
		require.NoError(t, err)
		at := timestamppb.New(time.UnixMilli(1_790_000_000_000))
		fingerprint := func(text string) string { sum := auth.Fingerprint(text); return hex.EncodeToString(sum[:]) }
		key := func(change func(k *adminv1.ExportedKey)) *adminv1.ExportedKey {
			text := auth.NewKey(uuid.New())
			k := &adminv1.ExportedKey{Key: &adminv1.Key{Id: uuid.NewString(), Name: "k", Hint: auth.Hint(text), Scopes: []string{"store:read"},
				Status: adminv1.Key_active, CreatedAt: at}, Fingerprint: fingerprint(text)}
			change(k)
			return k
		}
		hook := func(change func(w *adminv1.ExportedWebhook)) *adminv1.ExportedWebhook {
			w := &adminv1.ExportedWebhook{Webhook: &adminv1.Webhook{Id: uuid.NewString(), Url: "https://example.com/h",
				Events: []string{"order.paid"}, State: adminv1.Webhook_enabled, CreatedAt: at, UpdatedAt: at}, Secret: signature.NewSecret()}
			change(w)
			return w
		}
		send := func(kind transfer.Kind, lines ...string) *adminv1.ImportResponse {
			out, err := o.ImportRows(ctx, &adminv1.ImportRowsRequest{Store: "a", Kind: string(kind), Lines: strings.Join(lines, "\n") + "\n"})
			require.NoError(t, err)
			return out
		}
		refused := func(field, reason string, kind transfer.Kind, lines ...string) {
			t.Helper()
			out := send(kind, lines...)
			require.NotEmpty(t, out.GetRefused(), reason)
			require.Equal(t, field, out.GetRefused()[0].GetField(), "%s: %v", reason, out)
			require.Zero(t, out.GetStored())
		}
		for reason, row := range map[string]struct {
			field  string
			change func(k *adminv1.ExportedKey)
		}{
			"no id":                    {"key.id", func(k *adminv1.ExportedKey) { k.Key.Id = "k1" }},
			"no key":                   {"key.id", func(k *adminv1.ExportedKey) { k.Key = nil }},
			"another store's id":       {"id", func(k *adminv1.ExportedKey) { k.Key.Id = taken.GetKey().GetId() }},
			"no name":                  {"key.name", func(k *adminv1.ExportedKey) { k.Key.Name = " " }},
			"a long name":              {"key.name", func(k *adminv1.ExportedKey) { k.Key.Name = strings.Repeat("k", 101) }},
			"a whole key as its hint":  {"key.hint", func(k *adminv1.ExportedKey) { k.Key.Hint = auth.NewKey(uuid.New()) }},
			"no scope":                 {"key.scopes", func(k *adminv1.ExportedKey) { k.Key.Scopes = nil }},
			"an unknown scope":         {"key.scopes", func(k *adminv1.ExportedKey) { k.Key.Scopes = []string{"store:read", "admin"} }},
			"no fingerprint":           {"fingerprint", func(k *adminv1.ExportedKey) { k.Fingerprint = "" }},
			"a short fingerprint":      {"fingerprint", func(k *adminv1.ExportedKey) { k.Fingerprint = k.Fingerprint[:62] }},
			"a long fingerprint":       {"fingerprint", func(k *adminv1.ExportedKey) { k.Fingerprint += "00" }},
			"upper case":               {"fingerprint", func(k *adminv1.ExportedKey) { k.Fingerprint = "AB" + k.Fingerprint[2:] }},
			"no digits":                {"fingerprint", func(k *adminv1.ExportedKey) { k.Fingerprint = strings.Repeat("g", 64) }},
			"the text of a key":        {"fingerprint", func(k *adminv1.ExportedKey) { k.Fingerprint = auth.NewKey(uuid.New()) }},
			"another store's":          {"fingerprint", func(k *adminv1.ExportedKey) { k.Fingerprint = fingerprint(taken.GetSecret()) }},
			"no status":                {"key.status", func(k *adminv1.ExportedKey) { k.Key.Status = 0 }},
			"revoked, at no time":      {"revokedAt", func(k *adminv1.ExportedKey) { k.Key.Status = adminv1.Key_revoked }},
			"active, and revoked":      {"revokedAt", func(k *adminv1.ExportedKey) { k.RevokedAt = at }},
			"expired before it was":    {"key.expiresAt", func(k *adminv1.ExportedKey) { k.Key.ExpiresAt = at }},
			"no time of creation":      {"key.createdAt", func(k *adminv1.ExportedKey) { k.Key.CreatedAt = nil }},
			"a text that is not UTF-8": {"key.name", func(k *adminv1.ExportedKey) { k.Key.Name = "k\x01" }},
		} {
			refused(row.field, reason, transfer.Keys, string(apijson.Marshal(key(row.change))))
		}
		for reason, row := range map[string]struct {
			field  string
			change func(w *adminv1.ExportedWebhook)
		}{
			"no id":                      {"webhook.id", func(w *adminv1.ExportedWebhook) { w.Webhook.Id = "" }},
			"another store's id":         {"id", func(w *adminv1.ExportedWebhook) { w.Webhook.Id = hooked.GetWebhook().GetId() }},
			"plain http":                 {"webhook.url", func(w *adminv1.ExportedWebhook) { w.Webhook.Url = "http://example.com/h" }},
			"a private address":          {"webhook.url", func(w *adminv1.ExportedWebhook) { w.Webhook.Url = "https://169.254.169.254/h" }},
			"a user name":                {"webhook.url", func(w *adminv1.ExportedWebhook) { w.Webhook.Url = "https://u:p@example.com/" }},
			"a long description":         {"webhook.description", func(w *adminv1.ExportedWebhook) { w.Webhook.Description = strings.Repeat("d", 501) }},
			"no event":                   {"webhook.events", func(w *adminv1.ExportedWebhook) { w.Webhook.Events = nil }},
			"an unknown event":           {"webhook.events", func(w *adminv1.ExportedWebhook) { w.Webhook.Events = []string{"order.lost"} }},
			"no state":                   {"webhook.state", func(w *adminv1.ExportedWebhook) { w.Webhook.State = 0 }},
			"disabled, at no time":       {"webhook.disabledAt", func(w *adminv1.ExportedWebhook) { w.Webhook.State = adminv1.Webhook_disabled }},
			"failing since no time":      {"webhook.failingSince", func(w *adminv1.ExportedWebhook) { w.Webhook.State = adminv1.Webhook_failing }},
			"no secret":                  {"secret", func(w *adminv1.ExportedWebhook) { w.Secret = "" }},
			"a secret without a prefix":  {"secret", func(w *adminv1.ExportedWebhook) { w.Secret = w.Secret[len(signature.SecretPrefix):] }},
			"a short secret":             {"secret", func(w *adminv1.ExportedWebhook) { w.Secret = w.Secret[:20] }},
			"a secret with a line break": {"secret", func(w *adminv1.ExportedWebhook) { w.Secret += "\n" }},
		} {
			refused(row.field, reason, transfer.Webhooks, string(apijson.Marshal(hook(row.change))))
		}
		// These lines lack the secrets, or are no lines of an export.
		for _, line := range []string{string(apijson.Marshal(key(func(*adminv1.ExportedKey) {}).GetKey())), "{}", "[]", ""} {
			require.NotEmpty(t, send(transfer.Keys, line).GetRefused(), line)
			require.NotEmpty(t, send(transfer.Webhooks, line).GetRefused(), line)
		}

		unchanged := func(*adminv1.ExportedKey) {}
		twice := key(unchanged)
		other := key(func(k *adminv1.ExportedKey) { k.Fingerprint = twice.GetFingerprint() })
		refused("fingerprint", "twice in a batch", transfer.Keys, string(apijson.Marshal(twice)), string(apijson.Marshal(other)))
		var keys, hooks []string
		for range shop.MaxActiveKeys {
			keys = append(keys, string(apijson.Marshal(key(unchanged))))
		}
		over := string(apijson.Marshal(key(func(k *adminv1.ExportedKey) { k.Key.Status, k.RevokedAt = adminv1.Key_revoked, at })))
		past := string(apijson.Marshal(key(func(k *adminv1.ExportedKey) {
			k.Key.Status, k.Key.ExpiresAt = adminv1.Key_expired, timestamppb.New(at.AsTime().Add(time.Hour))
		})))
		refused("", "the eleventh active key", transfer.Keys, append(keys, string(apijson.Marshal(key(unchanged))))...)
		require.EqualValues(t, shop.MaxActiveKeys+2, send(transfer.Keys, append(keys, over, past)...).GetStored())
		refused("", "one more", transfer.Keys, string(apijson.Marshal(key(unchanged))))
		for range webhooks.Max {
			hooks = append(hooks, string(apijson.Marshal(hook(func(*adminv1.ExportedWebhook) {}))))
		}
		more := string(apijson.Marshal(hook(func(w *adminv1.ExportedWebhook) {
			w.Webhook.State, w.Webhook.DisabledAt = adminv1.Webhook_disabled, at
		})))
		refused("", "the sixth webhook", transfer.Webhooks, append(hooks, more)...)
		require.EqualValues(t, webhooks.Max, send(transfer.Webhooks, hooks...).GetStored())
		refused("", "one more", transfer.Webhooks, more)
	})
}

package admin_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/notice"
	"go.storefront.example/ent/seal"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/transfer/transfertest"
	"go.storefront.example/server/webhooks"
	"go.storefront.example/worker/signature"
)

func newSecretKey(t *testing.T) seal.Key {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return key
}

// canary is the secret of the webhook whose description is n.
func canary(n int) string { return fmt.Sprintf("whsec_canary-%04d", n) }

// seed inserts webhooks with descriptions from from to below, exclusive, and their canaries sealed with ring.
func (b vault) seed(from, to int, ring *seal.Keyring) {
	b.t.Helper()
	owner := b.db.Client().Store.Query().OnlyX(b.ctx)
	now := b.db.Now()
	for n := from; n < to; n++ {
		webhookID := id.At(now)
		sealed, key := ring.Seal(canary(n), webhookID[:])
		_, err := b.db.Writer().ExecContext(b.ctx, `INSERT INTO webhooks
 (id, store_id, url, description, events, secret, secret_key, enabled, disabled_automatically, created_at, updated_at)
 VALUES ($1, $2, 'https://receiver.example.com', $3, '["order.paid"]', $4, $5, true, false, $6, $6)`,
			webhookID, owner.ID, fmt.Sprint(n), sealed, key, now)
		require.NoError(b.t, err)
	}
}

func (b vault) opens(ring *seal.Keyring, count int) {
	b.t.Helper()
	rows := b.db.Client().Webhook.Query().AllX(b.ctx)
	require.Len(b.t, rows, count)
	for _, row := range rows {
		var n int
		_, err := fmt.Sscan(row.Description, &n)
		require.NoError(b.t, err)
		plain, err := ring.Open(row.Secret, row.SecretKey, row.ID[:])
		require.NoError(b.t, err)
		require.Equal(b.t, canary(n), plain)
	}
}

// vault is a database with one store, s, and an operator who seals with a keyring.
type vault struct {
	*admin.Operator
	db  *db.DB
	ctx context.Context
	t   *testing.T
}

func newVault(t *testing.T, d *db.DB, ring *seal.Keyring) vault {
	t.Helper()
	b := vault{admin.New(d, admin.Options{Webhooks: webhooks.Options{Secrets: ring}}), d, t.Context(), t}
	_, err := b.CreateStore(b.ctx, &adminv1.CreateStoreRequest{Name: "S", Slug: "s", Currency: "XAF", Country: "CM"})
	require.NoError(t, err)
	return b
}

func (b vault) hook() uuid.UUID {
	b.t.Helper()
	made, err := b.CreateWebhook(b.ctx, &adminv1.CreateWebhookRequest{Store: "s", Url: "https://receiver.example.com"})
	require.NoError(b.t, err)
	return uuid.MustParse(made.GetWebhook().GetId())
}

func TestResealSecretsLeavesNothingUnderOlderKeys(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newVault(t, d, nil)
		oldest, older, current := newSecretKey(t), newSecretKey(t), newSecretKey(t)
		b.seed(0, 250, seal.NewKeyring(older)) // more than resealBatch
		b.seed(250, 255, seal.NewKeyring(oldest))
		b.seed(255, 260, seal.NewKeyring(current))
		before := b.db.Client().Webhook.Query().FirstX(b.ctx)
		entries := b.db.Client().ActivityEntry.Query().CountX(b.ctx)

		var reports []admin.ResealProgress
		progress, err := admin.ResealSecrets(b.ctx, d, seal.NewKeyring(current, older, oldest),
			func(progress admin.ResealProgress) { reports = append(reports, progress) })
		require.NoError(t, err)
		require.Equal(t, admin.ResealProgress{Webhooks: 260, Done: 255}, progress)
		require.Greater(t, len(reports), 2, "progress is reported for each batch")
		require.Equal(t, 200, reports[0].Done)
		b.opens(seal.NewKeyring(current), 260)

		after := b.db.Client().Webhook.GetX(b.ctx, before.ID)
		require.Equal(t, before.UpdatedAt, after.UpdatedAt, "the webhook is what it was")
		require.Equal(t, entries, b.db.Client().ActivityEntry.Query().CountX(b.ctx))

		progress, err = admin.ResealSecrets(b.ctx, d, seal.NewKeyring(current), func(admin.ResealProgress) {})
		require.NoError(t, err)
		require.Equal(t, admin.ResealProgress{Webhooks: 260}, progress, "nothing is left to do")
		require.Equal(t, after.Secret, b.db.Client().Webhook.GetX(b.ctx, before.ID).Secret)
	})
}

func TestResealSecretsGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newVault(t, d, nil)
		older, current := newSecretKey(t), newSecretKey(t)
		both := seal.NewKeyring(current, older)
		b.seed(0, 450, seal.NewKeyring(older))

		ctx, interrupt := context.WithCancel(b.ctx)
		progress, err := admin.ResealSecrets(ctx, d, both, func(admin.ResealProgress) { interrupt() })
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 200, progress.Done)
		b.opens(both, 450)

		progress, err = admin.ResealSecrets(b.ctx, d, both, func(admin.ResealProgress) {})
		require.NoError(t, err)
		require.Equal(t, admin.ResealProgress{Webhooks: 450, Done: 250}, progress)
		b.opens(seal.NewKeyring(current), 450)
	})
}

func TestResealSecretsLeavesWhatItCannotOpen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		b := newVault(t, d, nil)
		lost, older, current := newSecretKey(t), newSecretKey(t), newSecretKey(t)
		b.seed(0, 3, seal.NewKeyring(lost))
		b.seed(3, 8, seal.NewKeyring(older))
		progress, err := admin.ResealSecrets(b.ctx, d, seal.NewKeyring(current, older), func(admin.ResealProgress) {})
		require.NoError(t, err)
		require.Equal(t, admin.ResealProgress{Webhooks: 8, Done: 5, Left: 3, Unknown: progress.Unknown}, progress)
		require.Len(t, progress.Unknown, 3)
		require.Equal(t, lost.ID(), progress.Unknown[0].KeyID)
		b.opens(seal.NewKeyring(current, lost), 8)

		_, err = d.Writer().ExecContext(b.ctx, `UPDATE webhooks SET secret_key = $1 WHERE secret_key = $2`, older.ID(), lost.ID())
		require.NoError(t, err)
		_, err = admin.ResealSecrets(b.ctx, d, seal.NewKeyring(current, older), func(admin.ResealProgress) {})
		require.ErrorIs(t, err, seal.ErrTampered)
	})
}

// The keyring must have the keys of stored secrets. If one is lost, ReplaceLostSecrets makes new secrets.
func TestAnotherSecretKeyIsRefusedAtEachDoorThatSeals(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		lost, wrong := seal.NewKeyring(newSecretKey(t)), seal.NewKeyring(newSecretKey(t))
		owner := newVault(t, d, lost)
		made := owner.hook()
		require.NoError(t, notice.SetWebhook(owner.ctx, d, lost, "https://mailer.example", signature.NewSecret()))
		other := vault{admin.New(d, admin.Options{Webhooks: webhooks.Options{Secrets: wrong}}), d, owner.ctx, t}
		source := newVault(t, dbtest.New(t, dbtest.SQLite, db.Config{}), seal.NewKeyring(newSecretKey(t)))
		source.hook()
		exported := withSecrets(t, source, "s")

		for door, try := range map[string]func(o vault, ring *seal.Keyring) error{
			"create": func(o vault, _ *seal.Keyring) error {
				_, err := o.CreateWebhook(o.ctx, &adminv1.CreateWebhookRequest{Store: "s", Url: "https://receiver.example.com"})
				return err
			},
			"rotate": func(o vault, _ *seal.Keyring) error {
				_, err := o.RotateSecret(o.ctx, &adminv1.RotateSecretRequest{Id: made.String()})
				return err
			},
			"import of a store with secrets": func(o vault, _ *seal.Keyring) error {
				request := exported.request(t, "s", false)
				request.WithSecrets = true
				_, err := o.ImportStore(o.ctx, request)
				return err
			},
			"import of webhooks": func(o vault, _ *seal.Keyring) error {
				_, err := transfertest.Rows(o.ctx, o.Operator, "s", "webhooks", exported.lines["webhooks"])
				return err
			},
		} {
			err := try(other, wrong)
			require.Equal(t, apierr.SecretKeyMissing, codeOf(err), door)
			require.ErrorContains(t, err, made.String(), door)
			require.NoError(t, try(owner, lost), door)
		}
		err := notice.SetWebhook(owner.ctx, d, wrong, "https://mailer.example", signature.NewSecret())
		require.ErrorIs(t, err, seal.ErrUnknownKey)
		require.ErrorContains(t, err, made.String())

		secrets := map[string]string{}
		require.NoError(t, admin.ReplaceLostSecrets(owner.ctx, d, wrong, func(webhook, secret string) { secrets[webhook] = secret }))
		require.Len(t, secrets, 3, "all but that of notices, which is in the settings")
		for _, row := range d.Client().Webhook.Query().AllX(owner.ctx) {
			plain, err := wrong.Open(row.Secret, row.SecretKey, row.ID[:])
			require.NoError(t, err)
			if row.StoreID != notice.NoStore {
				require.Equal(t, secrets[row.ID.String()], plain)
			}
		}
		other.hook()
	})
}

func TestResealSecretsMeetsChangesThatCameInBetween(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		older, current := newSecretKey(t), newSecretKey(t)
		late := newVault(t, d, seal.NewKeyring(older, current))
		made := late.hook()
		both := seal.NewKeyring(current, older)
		var secret string
		progress, err := admin.ResealSecrets(late.ctx, d, both, func(admin.ResealProgress) {
			if secret == "" {
				w, err := late.RotateSecret(late.ctx, &adminv1.RotateSecretRequest{Id: made.String()})
				require.NoError(t, err)
				secret = w.GetSecret()
			}
		})
		require.NoError(t, err)
		require.Equal(t, admin.ResealProgress{Webhooks: 1, Done: 2}, progress)
		row := d.Client().Webhook.GetX(late.ctx, made)
		plain, err := seal.NewKeyring(current).Open(row.Secret, row.SecretKey, row.ID[:])
		require.NoError(t, err)
		require.Equal(t, secret, plain, "the secret that the owner was shown last")

		// If a server never stops doing so, ResealSecrets reports the remaining secrets and ends.
		progress, err = admin.ResealSecrets(late.ctx, d, both, func(admin.ResealProgress) {
			_, err := late.RotateSecret(late.ctx, &adminv1.RotateSecretRequest{Id: made.String()})
			require.NoError(t, err)
		})
		require.NoError(t, err)
		require.Equal(t, 1, progress.Left)
		require.Empty(t, progress.Unknown)
	})
}

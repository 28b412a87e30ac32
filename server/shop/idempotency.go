package shop

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// The transaction of a change also stores its answer, with hashes of the idempotency key and of the request. A key applies to
// one store and one operation. Refused requests store nothing.
//
// Callers put e-mails and phones into keys and requests, and a plain hash of a phone is found by trying all phones. So the
// hashes are keyed, with a secret in the same table: all processes and a restored backup have it, and it is deleted with the
// store.

// IdempotencyWindow is how long an answer is stored under its key.
const IdempotencyWindow = 24 * time.Hour

// MaxIdempotencyKeyRunes is how many characters an idempotency key may have.
var MaxIdempotencyKeyRunes = validate.MaxOf("storefront.admin.v1.CreateOrderRequest.idempotency_key")

// Once returns a function that makes a change once within IdempotencyWindow for the call's idempotency key, if it has one.
// Later calls of the function return the answer of that change, even if the rows have changed since. Two requests are the same
// if their JSON is, which leaves out zero values, so that a new field does not change it.
//
// The function refuses with idempotency_key_reused if the key was used for another request, with validation_failed if the key
// is too long or contains control characters, and as the change does.
func Once[M proto.Message](operation string, request any, change func(*hook.Change) (M, error)) func(*hook.Change) (M, error) {
	return func(c *hook.Change) (answer M, err error) {
		if c.IdempotencyKey == "" {
			return change(c)
		}
		text, err := json.Marshal(request)
		if err != nil {
			return answer, fmt.Errorf("encode the request: %w", err)
		}
		u := &keyUse{Change: c, operation: operation}
		stored, hash, err := u.claim(text)
		switch {
		case err != nil:
			return answer, err
		case stored == nil:
			if answer, err = change(c); err != nil {
				return answer, err
			}
			return answer, u.remember(answer)
		case len(stored.request) > 0 && !bytes.Equal(stored.request, hash): // an erasure removes the hash
			return answer, apierr.New(apierr.IdempotencyKeyReused, "The idempotency key was used for another request; use a new one.")
		}
		answer = answer.ProtoReflect().New().Interface().(M)
		if err := proto.Unmarshal(stored.answer, answer); err != nil {
			return answer, fmt.Errorf("read the remembered answer: %w", err)
		}
		return answer, nil
	}
}

// ClaimIdempotencyKey uses up the call's key, if it has one, for a change whose answer has a secret. It stores no answer,
// because secrets are shown once.
func ClaimIdempotencyKey(c *hook.Change, operation string) error {
	if c.IdempotencyKey == "" {
		return nil
	}
	u := &keyUse{Change: c, operation: operation}
	stored, _, err := u.claim(nil)
	if err == nil && stored != nil {
		err = apierr.New(apierr.IdempotencyKeyReused,
			"This was done already under the same idempotency key. The secret that it made is shown once.")
	}
	return err
}

type keyUse struct {
	*hook.Change
	operation string
	// hash is the keyed hash of the key, as it is stored; claim sets it.
	hash string
}

func (u *keyUse) check() error {
	p := &validate.Problems{}
	if !utf8.ValidString(u.IdempotencyKey) || strings.ContainsFunc(u.IdempotencyKey, unicode.IsControl) ||
		utf8.RuneCountInString(u.IdempotencyKey) > MaxIdempotencyKeyRunes {
		p.Invalid("idempotencyKey",
			fmt.Sprintf("must be at most %d characters long and hold no control characters", MaxIdempotencyKeyRunes))
	}
	return p.Err()
}

// storedAnswer has the hash of the request that used a key.
type storedAnswer struct{ request, answer []byte }

// secretOperation is the operation of the row of a store whose column request has the secret of the store's hashes. The row's
// id is later than all others, so that no sweep deletes it.
const secretOperation = "secret"

var secretTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// begin returns the secret of the store's hashes, which the store's first idempotency key makes, and the transaction's time. On
// PostgreSQL this is the database's time and not DB.Now, which follows a leap of the database's clock late: a server would
// otherwise take the key that another server has just stored for an old one.
func (u *keyUse) begin() (secret []byte, now time.Time, err error) {
	for {
		for row := range db.Rows(u, u.Tx, "SELECT request, "+db.ByDialect(u.DB, "now()", "NULL")+
			" FROM idempotency_keys WHERE store_id = $1 AND operation = $2 AND key = ''", u.Store.ID, secretOperation) {
			var at sql.NullTime
			if err := row.Scan(&secret, &at); err != nil {
				return nil, now, fmt.Errorf("read the secret of idempotency keys: %w", err)
			}
			now = at.Time.UTC().Truncate(time.Millisecond)
		}
		if secret != nil {
			if u.DB.TimeArg() != nil {
				now = u.DB.Now()
			}
			return secret, now, nil
		}
		made := make([]byte, sha256.Size)
		_, _ = rand.Read(made) // never fails
		if _, err := u.Tx.ExecContext(u, `INSERT INTO idempotency_keys (id, store_id, operation, key, request, answer, created_at)
 VALUES ($1, $2, $3, '', $4, $5, $6) ON CONFLICT (store_id, operation, key) DO NOTHING`, id.At(secretTime), u.Store.ID, secretOperation,
			made, []byte{}, u.DB.Now()); err != nil {
			return nil, now, fmt.Errorf("make the secret of idempotency keys: %w", err)
		}
	}
}

// claim stores the key, and returns the hash of the request. If the key is stored already, it returns what is stored with it;
// of two transactions at once, the second waits for the first.
func (u *keyUse) claim(request []byte) (stored *storedAnswer, hash []byte, err error) {
	if err := u.check(); err != nil {
		return nil, nil, err
	}
	secret, now, err := u.begin()
	if err != nil {
		return nil, nil, err
	}
	keyed := func(kind string, text []byte) []byte {
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write(append([]byte(kind), text...)) // never fails
		return mac.Sum(nil)
	}
	u.hash, hash = base64.RawURLEncoding.EncodeToString(keyed("key ", []byte(u.IdempotencyKey))), keyed("request ", request)
	for stored == nil { // repeat if another transaction deleted the row between the two statements
		claimed, err := u.Tx.ExecContext(u, `INSERT INTO idempotency_keys (id, store_id, operation, key, request, answer, created_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (store_id, operation, key) DO UPDATE
 SET id = excluded.id, request = excluded.request, answer = excluded.answer, created_at = excluded.created_at, customer_id = NULL
 WHERE idempotency_keys.created_at <= $8`,
			id.At(now), u.Store.ID, u.operation, u.hash, hash, []byte{}, now, now.Add(-IdempotencyWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("claim the idempotency key: %w", err)
		}
		if n, err := claimed.RowsAffected(); n > 0 || err != nil {
			return nil, hash, err
		}
		for row := range db.Rows(u, u.Tx, "SELECT request, answer FROM idempotency_keys WHERE store_id = $1 AND operation = $2 AND "+
			"key = $3",
			u.Store.ID, u.operation, u.hash) {
			stored = &storedAnswer{}
			if err := row.Scan(&stored.request, &stored.answer); err != nil {
				return nil, nil, fmt.Errorf("look for the idempotency key: %w", err)
			}
		}
	}
	return stored, hash, nil
}

func (u *keyUse) remember(answer proto.Message) error {
	text, err := proto.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = u.Tx.ExecContext(u, `UPDATE idempotency_keys SET answer = $1, customer_id = $5
 WHERE store_id = $2 AND operation = $3 AND key = $4`, text, u.Store.ID, u.operation, u.hash, hook.CustomerOf(answer))
	if err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return nil
}

package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"entgo.io/ent/dialect"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/id"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/idempotencykey"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
)

const (
	// MaxIdempotencyKeyRunes bounds an idempotency key.
	MaxIdempotencyKeyRunes = 255
	// IdempotencyWindow is for how long an answer is remembered under its key.
	IdempotencyWindow = 24 * time.Hour
)

type idempotencyKey struct{}

// WithIdempotencyKey returns a context under which RecordOrder, PayOrder, FailOrder, CancelOrder and
// RefundOrder are carried out once for the key: repeated with the same request within
// IdempotencyWindow they answer what they answered first, whatever became of the order since, and
// change nothing. With another request they refuse with idempotency_key_reused, and a key that is
// too long or holds control characters with validation_failed. A key belongs to one store and one
// of the methods; an empty one is none. What was refused is not remembered.
//
// CreateKey, CreateWebhook and RotateSecret are carried out once for the key too. Their answer holds
// a secret, which is shown once and remembered nowhere: repeated with any request they refuse with
// idempotency_key_reused.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// IdempotencyKey returns the key that WithIdempotencyKey put into the context, or "".
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(idempotencyKey{}).(string)
	return key
}

// changeOrder makes or changes an order in a transaction and returns it.
type changeOrder func(ctx context.Context, tx *ent.Tx) (*storefrontv1.Order, error)

// once carries out a change in a transaction, unless it was carried out before under the context's
// idempotency key: then it returns what that answered. The answer is remembered in the transaction of
// the change, so that a process that dies leaves both or neither. asked distinguishes requests.
func (s *Shop) once(ctx context.Context, t tenant.Store, operation string, asked any, change changeOrder) (*storefrontv1.Order, error) {
	if key := IdempotencyKey(ctx); key != "" {
		var err error
		if change, err = s.remembering(t, operation, key, asked, change); err != nil {
			return nil, err
		}
	}
	var answer *storefrontv1.Order
	err := s.store.Change(ctx, func(ctx context.Context, tx *ent.Tx) error {
		var err error
		answer, err = change(ctx, tx)
		return err
	})
	return answer, err
}

// remembering is a change that asks first whether it is remembered.
func (s *Shop) remembering(t tenant.Store, operation, key string, asked any, change changeOrder) (changeOrder, error) {
	if err := checkIdempotencyKey(key); err != nil {
		return nil, err
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	request := sha256.Sum256(text)
	return func(ctx context.Context, tx *ent.Tx) (*storefrontv1.Order, error) {
		row, err := s.remembered(ctx, tx, t, operation, key)
		switch {
		case err != nil:
			return nil, err
		case row == nil:
		case !bytes.Equal(row.Request, request[:]):
			return nil, apierr.New(apierr.IdempotencyKeyReused, "The idempotency key was used for another request; use a new one.")
		default:
			answer := &storefrontv1.Order{}
			if err := proto.Unmarshal(row.Answer, answer); err != nil {
				return nil, fmt.Errorf("read the remembered answer: %w", err)
			}
			return answer, nil
		}
		answer, err := change(ctx, tx)
		if err != nil {
			return nil, err
		}
		bytes, err := proto.Marshal(answer)
		if err != nil {
			return nil, fmt.Errorf("remember the answer: %w", err)
		}
		return answer, s.remember(ctx, tx, t, operation, key, request, bytes)
	}, nil
}

// claim uses up the context's idempotency key in the transaction of a change whose answer is shown
// once. It refuses with idempotency_key_reused when the key was used up, and with validation_failed.
func (s *Shop) claim(ctx context.Context, tx *ent.Tx, operation string) error {
	key := IdempotencyKey(ctx)
	if key == "" {
		return nil
	}
	t, err := tenantOf(ctx)
	if err != nil {
		return err
	}
	if err := checkIdempotencyKey(key); err != nil {
		return err
	}
	row, err := s.remembered(ctx, tx, t, operation, key)
	switch {
	case err != nil:
		return err
	case row != nil:
		return apierr.New(apierr.IdempotencyKeyReused, "This was done already under the same idempotency key. The secret that it made is shown once.")
	}
	return s.remember(ctx, tx, t, operation, key, sha256.Sum256(nil), nil)
}

func checkIdempotencyKey(key string) error {
	p := &problems{}
	if !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) || utf8.RuneCountInString(key) > MaxIdempotencyKeyRunes {
		p.Invalid("idempotencyKey", fmt.Sprintf("must be at most %d characters long and hold no control characters", MaxIdempotencyKeyRunes))
	}
	return p.Err()
}

// remembered returns what was remembered under a key, or nil. Transactions that ask for the same key
// run one after the other from here on.
func (s *Shop) remembered(ctx context.Context, tx *ent.Tx, t tenant.Store, operation, key string) (*ent.IdempotencyKey, error) {
	if err := s.takeTurn(ctx, tx, t, operation, key); err != nil {
		return nil, err
	}
	row, err := tx.IdempotencyKey.Query().
		Where(idempotencykey.StoreID(t.ID), idempotencykey.Operation(operation), idempotencykey.Key(key)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, nil //nolint:nilnil // There is none, which is no error.
	case err != nil:
		return nil, fmt.Errorf("look for the idempotency key: %w", err)
	case row.CreatedAt.After(s.store.Now().Add(-IdempotencyWindow)):
		return row, nil
	}
	if err := tx.IdempotencyKey.DeleteOne(row).Exec(ctx); err != nil {
		return nil, fmt.Errorf("forget the idempotency key: %w", err)
	}
	return nil, nil //nolint:nilnil // There is none any more, which is no error.
}

// remember keeps an answer under a key, from now on: the transaction's own time (hook.Time) may wait
// for rows that are still to be taken.
func (s *Shop) remember(ctx context.Context, tx *ent.Tx, t tenant.Store, operation, key string, request [sha256.Size]byte, answer []byte) error {
	now := s.store.Now()
	err := tx.IdempotencyKey.Create().SetID(id.At(now)).SetStoreID(t.ID).SetOperation(operation).SetKey(key).
		SetRequest(request[:]).SetAnswer(append([]byte{}, answer...)).SetCreatedAt(now).Exec(ctx)
	if err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return nil
}

// takeTurn makes transactions under the same key run one after the other, from their beginning: the
// second then sees what the first remembered, and is not refused for what the first has done. SQLite
// has a single writer, where they do so anyway.
func (s *Shop) takeTurn(ctx context.Context, tx *ent.Tx, t tenant.Store, operation, key string) error {
	if s.store.Dialect() != dialect.Postgres {
		return nil
	}
	sum := sha256.Sum256([]byte(t.ID.String() + "\n" + operation + "\n" + key))
	number := int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // Any 64 bits name the lock.
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", number); err != nil {
		return fmt.Errorf("take the idempotency key's turn: %w", err)
	}
	return nil
}

-- +goose Up
-- +goose NO TRANSACTION
-- An erasure finds all rows by the ids of the customer and of the customer's orders. It reads the customer of events of earlier
-- releases itself. Idempotency keys and the names of refused fields were kept as callers had chosen them; no release had them.
SET lock_timeout = '1200ms';
ALTER TABLE "events" ADD COLUMN IF NOT EXISTS "customer_id" uuid NULL;
ALTER TABLE "idempotency_keys" ADD COLUMN IF NOT EXISTS "customer_id" uuid NULL;
DELETE FROM "idempotency_keys" WHERE "operation" <> 'secret';
UPDATE "refused_requests" SET "fields" = '' WHERE "fields" <> '';

SET lock_timeout = 0;
CREATE INDEX CONCURRENTLY IF NOT EXISTS "event_store_id_customer_id_created_at_id" ON "events" ("store_id", "customer_id", "created_at", "id") WHERE customer_id IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS "event_without_customer" ON "events" ("store_id", "created_at", "id") WHERE customer_id IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS "idempotencykey_store_id_customer_id" ON "idempotency_keys" ("store_id", "customer_id") WHERE customer_id IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS "activityentry_store_id_resource_id" ON "activity_entries" ("store_id", "resource_id");

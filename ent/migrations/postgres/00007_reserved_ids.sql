-- +goose Up
-- +goose NO TRANSACTION
-- No row has an id that the service reserves (IsReserved in ent/id). A constraint that an old row violates stays NOT VALID: it
-- holds for new rows, and `storefront doctor` names the old ones.
SET lock_timeout = '1200ms';
ALTER TABLE "activity_entries" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "api_keys" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "customers" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "events" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "finished_deliveries" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "order_items" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "orders" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "payment_links" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "products" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "stores" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;
ALTER TABLE "webhooks" DROP CONSTRAINT IF EXISTS "reserved_id", ADD CONSTRAINT "reserved_id" CHECK (
	"id" NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
) NOT VALID;

SET lock_timeout = 0;
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "activity_entries" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'activity_entries has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "api_keys" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'api_keys has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "customers" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'customers has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "events" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'events has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "finished_deliveries" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'finished_deliveries has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "order_items" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'order_items has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "orders" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'orders has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "payment_links" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'payment_links has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "products" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'products has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "stores" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'stores has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	ALTER TABLE "webhooks" VALIDATE CONSTRAINT "reserved_id";
EXCEPTION WHEN check_violation THEN
	RAISE WARNING 'webhooks has rows whose id is reserved';
END $do$;
-- +goose StatementEnd
SET lock_timeout = '1200ms';

-- The functions of the triggers find their tables also where the search_path leads elsewhere, as in a restore by pg_restore.
-- +goose StatementBegin
DO $do$
DECLARE
	counting record;
BEGIN
	FOR counting IN SELECT DISTINCT t.tgfoid::regprocedure AS function, c.relnamespace::regnamespace AS schema
		FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
		WHERE t.tgname IN ('count_new', 'count_deleted', 'count_changed')
			AND c.oid IN ('"customers"'::regclass, '"orders"'::regclass, '"payment_links"'::regclass, '"products"'::regclass)
	LOOP
		EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', counting.function, counting.schema);
	END LOOP;
END $do$;
-- +goose StatementEnd

-- +goose Up
-- +goose NO TRANSACTION
-- Changes the tables of release 2026-09, with their rows, into the tables of this release, while servers of 2026-09 read and
-- write. Statements that lock a table are short and wait at most lock_timeout for the lock; if they do not get it, the
-- migration begins again. Each statement is one transaction, and does nothing if it has been done. The statements that read
-- all rows of a table block no writer.
SET lock_timeout = '1200ms';

-- Autovacuum of the tables through which many rows pass, such as this one, starts at a fixed number of dead rows. A share of
-- the table's size would be too late, because the table is mostly empty.
CREATE TABLE IF NOT EXISTS "deliveries" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"event_type" character varying NOT NULL,
	"retry" boolean NOT NULL DEFAULT false,
	"due_at" timestamptz NOT NULL,
	"lease" uuid NULL,
	"attempts" bytea NOT NULL,
	"epoch" bigint NOT NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id", "store_id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
	autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);
CREATE INDEX IF NOT EXISTS "delivery_store_id_webhook_id_epoch_retry_due_at_id" ON "deliveries" ("store_id", "webhook_id", "epoch", "retry", "due_at", "id");
CREATE INDEX IF NOT EXISTS "delivery_due_at" ON "deliveries" ("due_at");
CREATE INDEX IF NOT EXISTS "delivery_store_id_event_id" ON "deliveries" ("store_id", "event_id");
CREATE TABLE IF NOT EXISTS "finished_deliveries" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"event_type" character varying NOT NULL,
	"status" character varying NOT NULL,
	"attempts" bytea NOT NULL,
	"created_at" timestamptz NOT NULL,
	"finished_at" timestamptz NOT NULL,
	PRIMARY KEY ("id", "store_id")
);
CREATE INDEX IF NOT EXISTS "finisheddelivery_store_id_event_id" ON "finished_deliveries" ("store_id", "event_id");
CREATE INDEX IF NOT EXISTS "finisheddelivery_store_id_status_id" ON "finished_deliveries" ("store_id", "status", "id");
CREATE TABLE IF NOT EXISTS "outbox" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"type" character varying NOT NULL,
	PRIMARY KEY ("id", "store_id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
	autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);
CREATE TABLE IF NOT EXISTS "resends" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"since" timestamptz NOT NULL,
	"until" timestamptz NOT NULL,
	"position_at" timestamptz NOT NULL,
	"position_id" uuid NOT NULL,
	"resent" bigint NOT NULL DEFAULT 0,
	"created_at" timestamptz NOT NULL,
	"finished_at" timestamptz NULL,
	"stopped" boolean NOT NULL DEFAULT false,
	PRIMARY KEY ("id", "store_id")
);
CREATE INDEX IF NOT EXISTS "resend_store_id_webhook_id_created_at" ON "resends" ("store_id", "webhook_id", "created_at");
CREATE INDEX IF NOT EXISTS "resend_id" ON "resends" ("id") WHERE finished_at IS NULL;
CREATE TABLE IF NOT EXISTS "webhooks" (
	"id" uuid NOT NULL,
	"url" character varying NOT NULL,
	"description" character varying NOT NULL DEFAULT '',
	"events" jsonb NOT NULL,
	"secret" bytea NOT NULL,
	"secret_key" character varying NOT NULL,
	"enabled" boolean NOT NULL DEFAULT true,
	"disabled_at" timestamptz NULL,
	"disabled_automatically" boolean NOT NULL DEFAULT false,
	"failing_since" timestamptz NULL,
	"epoch" bigint NOT NULL DEFAULT 1,
	"notice_level" bigint NOT NULL DEFAULT 0,
	"notice_id" uuid NULL,
	"created_at" timestamptz NOT NULL,
	"updated_at" timestamptz NOT NULL,
	"store_id" uuid NOT NULL,
	PRIMARY KEY ("id", "store_id")
);
CREATE INDEX IF NOT EXISTS "webhook_store_id_created_at_id" ON "webhooks" ("store_id", "created_at", "id");

CREATE TABLE IF NOT EXISTS "idempotency_keys" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"operation" character varying NOT NULL,
	"key" character varying NOT NULL,
	"request" bytea NOT NULL,
	"answer" bytea NOT NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id", "store_id")
);
CREATE UNIQUE INDEX IF NOT EXISTS "idempotencykey_store_id_operation_key" ON "idempotency_keys" ("store_id", "operation", "key");
CREATE TABLE IF NOT EXISTS "sessions" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"fingerprint" bytea NOT NULL,
	"member" character varying NOT NULL,
	"role" character varying NOT NULL,
	"expires_at" timestamptz NOT NULL,
	"ended_at" timestamptz NULL,
	"origin" character varying NULL,
	"last_used_at" timestamptz NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX IF NOT EXISTS "session_fingerprint" ON "sessions" ("fingerprint");
CREATE INDEX IF NOT EXISTS "session_store_id_created_at_id" ON "sessions" ("store_id", "created_at", "id");
CREATE TABLE IF NOT EXISTS "sign_in_links" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"fingerprint" bytea NOT NULL,
	"member" character varying NOT NULL,
	"role" character varying NOT NULL,
	"expires_at" timestamptz NOT NULL,
	"used_at" timestamptz NULL,
	"origin" character varying NULL,
	"revoked_at" timestamptz NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX IF NOT EXISTS "signinlink_fingerprint" ON "sign_in_links" ("fingerprint");
CREATE INDEX IF NOT EXISTS "signinlink_store_id_created_at_id" ON "sign_in_links" ("store_id", "created_at", "id");

CREATE TABLE IF NOT EXISTS "forgettings" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"progress" bytea NOT NULL,
	"finished_at" timestamptz NULL,
	PRIMARY KEY ("id", "store_id")
);
CREATE INDEX IF NOT EXISTS "forgetting_id" ON "forgettings" ("id") WHERE finished_at IS NULL;

CREATE TABLE IF NOT EXISTS "clock_marks" (
	"id" character varying NOT NULL,
	"seen_at" timestamptz NOT NULL,
	"held_until" timestamptz NULL,
	PRIMARY KEY ("id")
);

CREATE TABLE IF NOT EXISTS "refused_requests" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"key_id" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"method" character varying NOT NULL,
	"route" character varying NOT NULL,
	"status" integer NOT NULL,
	"code" character varying NOT NULL,
	"fields" character varying NOT NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id", "store_id")
);
CREATE INDEX IF NOT EXISTS "refusedrequest_store_id_key_id_id" ON "refused_requests" ("store_id", "key_id", "id");
CREATE TABLE IF NOT EXISTS "tallies" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"subject_id" uuid NOT NULL,
	"began_at" timestamptz NOT NULL,
	"succeeded" bigint NOT NULL DEFAULT 0,
	"failed" bigint NOT NULL DEFAULT 0,
	"duration_ms" bigint NOT NULL DEFAULT 0,
	PRIMARY KEY ("id", "store_id")
);
CREATE UNIQUE INDEX IF NOT EXISTS "tally_store_id_subject_id_began_at" ON "tallies" ("store_id", "subject_id", "began_at");

-- How many rows a store has of each kind, counted as they change (package count).
CREATE TABLE IF NOT EXISTS "row_counts" (
	"store_id" uuid NOT NULL,
	"kind" character varying NOT NULL,
	"days" integer NOT NULL,
	"first_day" integer NOT NULL,
	"status" character varying NOT NULL,
	"type" character varying NOT NULL,
	"total" bigint NOT NULL,
	PRIMARY KEY ("store_id", "kind", "days", "first_day", "status", "type")
) WITH (fillfactor = 70);
CREATE TABLE IF NOT EXISTS "row_deltas" (
	"store_id" uuid NOT NULL,
	"id" bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
	"kind" character varying NOT NULL,
	"day" integer NOT NULL,
	"status" character varying NOT NULL,
	"type" character varying NOT NULL,
	"change" bigint NOT NULL,
	PRIMARY KEY ("store_id", "id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
	autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);
-- +goose StatementBegin
DO $do$
DECLARE
	counted record;
BEGIN
	FOR counted IN SELECT * FROM (VALUES
		('customers', '''''', ''''''),
		('orders', 'r.status', ''''''),
		('payment_links', '''''', ''''''),
		('products', 'r.status', 'r.type')) AS v (name, status, type)
	LOOP
		EXECUTE format($f$
CREATE OR REPLACE FUNCTION "count_new_%1$s"() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
	n record;
BEGIN
	FOR n IN SELECT r.store_id, (r.created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day, %2$s AS status, %3$s AS type,
		count(*) AS rows FROM added r GROUP BY 1, 2, 3, 4
	LOOP
		INSERT INTO row_deltas (store_id, kind, day, status, type, change)
		VALUES (n.store_id, '%1$s', n.day, n.status, n.type, n.rows);
	END LOOP;
	RETURN NULL;
END $body$ $f$, counted.name, counted.status, counted.type);
		EXECUTE format($f$
CREATE OR REPLACE FUNCTION "count_changed_%1$s"() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, '%1$s', (OLD.created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01', %2$s, %3$s, -1);
	IF TG_OP = 'UPDATE' THEN
		INSERT INTO row_deltas (store_id, kind, day, status, type, change)
		VALUES (NEW.store_id, '%1$s', (NEW.created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01', %4$s, %5$s, 1);
	END IF;
	RETURN NULL;
END $body$ $f$, counted.name, replace(counted.status, 'r.', 'OLD.'), replace(counted.type, 'r.', 'OLD.'),
			replace(counted.status, 'r.', 'NEW.'), replace(counted.type, 'r.', 'NEW.'));
	END LOOP;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE TRIGGER "count_new" AFTER INSERT ON "customers"
	REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_new_customers"();
CREATE OR REPLACE TRIGGER "count_deleted" AFTER DELETE ON "customers"
	FOR EACH ROW EXECUTE FUNCTION "count_changed_customers"();
CREATE OR REPLACE TRIGGER "count_changed" AFTER UPDATE OF store_id, created_at ON "customers"
	FOR EACH ROW WHEN ((OLD.store_id, OLD.created_at) IS DISTINCT FROM (NEW.store_id, NEW.created_at))
	EXECUTE FUNCTION "count_changed_customers"();
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE TRIGGER "count_new" AFTER INSERT ON "orders"
	REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_new_orders"();
CREATE OR REPLACE TRIGGER "count_deleted" AFTER DELETE ON "orders"
	FOR EACH ROW EXECUTE FUNCTION "count_changed_orders"();
CREATE OR REPLACE TRIGGER "count_changed" AFTER UPDATE OF store_id, created_at, status ON "orders"
	FOR EACH ROW WHEN ((OLD.store_id, OLD.created_at, OLD.status) IS DISTINCT FROM (NEW.store_id, NEW.created_at, NEW.status))
	EXECUTE FUNCTION "count_changed_orders"();
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE TRIGGER "count_new" AFTER INSERT ON "payment_links"
	REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_new_payment_links"();
CREATE OR REPLACE TRIGGER "count_deleted" AFTER DELETE ON "payment_links"
	FOR EACH ROW EXECUTE FUNCTION "count_changed_payment_links"();
CREATE OR REPLACE TRIGGER "count_changed" AFTER UPDATE OF store_id, created_at ON "payment_links"
	FOR EACH ROW WHEN ((OLD.store_id, OLD.created_at) IS DISTINCT FROM (NEW.store_id, NEW.created_at))
	EXECUTE FUNCTION "count_changed_payment_links"();
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE TRIGGER "count_new" AFTER INSERT ON "products"
	REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_new_products"();
CREATE OR REPLACE TRIGGER "count_deleted" AFTER DELETE ON "products"
	FOR EACH ROW EXECUTE FUNCTION "count_changed_products"();
CREATE OR REPLACE TRIGGER "count_changed" AFTER UPDATE OF store_id, created_at, status, type ON "products"
	FOR EACH ROW WHEN ((OLD.store_id, OLD.created_at, OLD.status, OLD.type) IS DISTINCT FROM (NEW.store_id, NEW.created_at, NEW.status, NEW.type))
	EXECUTE FUNCTION "count_changed_products"();
-- +goose StatementEnd

-- One statement counts the rows and deletes the row deltas that the triggers have written so far. It sees both at the same
-- time, so the deleted deltas are in the counts.
WITH folded AS (
	DELETE FROM "row_deltas" WHERE NOT EXISTS (SELECT FROM "row_counts")
), counted AS MATERIALIZED (
	SELECT store_id, 'customers' AS kind, (created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day, '' AS status, '' AS type, count(*) AS total
		FROM "customers" GROUP BY 1, 3, 4, 5
	UNION ALL
	SELECT store_id, 'orders' AS kind, (created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day, status AS status, '' AS type, count(*) AS total
		FROM "orders" GROUP BY 1, 3, 4, 5
	UNION ALL
	SELECT store_id, 'payment_links' AS kind, (created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day, '' AS status, '' AS type, count(*) AS total
		FROM "payment_links" GROUP BY 1, 3, 4, 5
	UNION ALL
	SELECT store_id, 'products' AS kind, (created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day, status AS status, type AS type, count(*) AS total
		FROM "products" GROUP BY 1, 3, 4, 5
)
INSERT INTO "row_counts" (store_id, kind, days, first_day, status, type, total)
	SELECT store_id, kind, 1, day, status, type, total FROM counted WHERE NOT EXISTS (SELECT FROM "row_counts")
	UNION ALL
	SELECT store_id, kind, 32, day & -32, status, type, sum(total) FROM counted WHERE NOT EXISTS (SELECT FROM "row_counts")
		GROUP BY 1, 2, 4, 5, 6;

ALTER TABLE "stores" ADD COLUMN IF NOT EXISTS "delete_at" timestamptz NULL, ADD COLUMN IF NOT EXISTS "moving" character varying NULL,
	ADD COLUMN IF NOT EXISTS "move_run" character varying NOT NULL DEFAULT '',
	ADD COLUMN IF NOT EXISTS "moved_to" character varying NOT NULL DEFAULT '',
	ADD COLUMN IF NOT EXISTS "redirect_to" character varying NOT NULL DEFAULT '';
CREATE INDEX IF NOT EXISTS "store_delete_at" ON "stores" ("delete_at") WHERE delete_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS "store_moving" ON "stores" ("moving") WHERE moving IS NOT NULL;
ALTER TABLE "events" ADD COLUMN IF NOT EXISTS "request_id" uuid NULL, ADD COLUMN IF NOT EXISTS "trace" character varying NULL;
ALTER TABLE "api_keys" ADD COLUMN IF NOT EXISTS "notice_level" bigint NOT NULL DEFAULT 0;

-- Primary and foreign keys of per-store tables get the column store_id, so that the tables can be distributed by store. id
-- stays the first column, because rows are also found by it alone. The old keys are renamed, because the new keys take their
-- names.
-- +goose StatementBegin
DO $do$
DECLARE
	old name;
BEGIN
	FOR old IN SELECT conname FROM pg_constraint WHERE contype = 'p' AND cardinality(conkey) = 1 AND conrelid IN ('"activity_entries"'::regclass,
		'"customers"'::regclass, '"events"'::regclass, '"order_items"'::regclass, '"orders"'::regclass, '"payment_links"'::regclass,
		'"products"'::regclass) AND conname LIKE '%\_pkey'
	LOOP
		EXECUTE format('ALTER INDEX %I RENAME TO %I', old, old || '_2026_09');
	END LOOP;
END $do$;
-- +goose StatementEnd

-- These statements wait for transactions that began before them, and block no writer.
SET lock_timeout = 0;
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "activity_entries_pkey" ON "activity_entries" ("id", "store_id");
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "customers_pkey" ON "customers" ("id", "store_id");
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "events_pkey" ON "events" ("id", "store_id");
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "order_items_pkey" ON "order_items" ("id", "store_id");
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "orders_pkey" ON "orders" ("id", "store_id");
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "payment_links_pkey" ON "payment_links" ("id", "store_id");
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "products_pkey" ON "products" ("id", "store_id");
SET lock_timeout = '1200ms';

-- A foreign key that is not yet valid is enforced only for new rows. The old key has checked the older rows.
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"order_items"'::regclass AND conname = 'order_items_orders_items' AND cardinality(conkey) = 1) THEN
		LOCK TABLE "orders", "order_items" IN ACCESS EXCLUSIVE MODE;
		ALTER TABLE "order_items" DROP CONSTRAINT "order_items_orders_items", ADD CONSTRAINT "order_items_orders_items"
			FOREIGN KEY ("order_id", "store_id") REFERENCES "orders" ("id", "store_id") ON DELETE NO ACTION NOT VALID;
	END IF;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"orders"'::regclass AND conname = 'orders_customers_orders' AND cardinality(conkey) = 1) THEN
		LOCK TABLE "customers", "orders" IN ACCESS EXCLUSIVE MODE;
		ALTER TABLE "orders" DROP CONSTRAINT "orders_customers_orders", ADD CONSTRAINT "orders_customers_orders"
			FOREIGN KEY ("customer_id", "store_id") REFERENCES "customers" ("id", "store_id") ON DELETE NO ACTION NOT VALID;
	END IF;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"orders"'::regclass AND conname = 'orders_payment_links_orders' AND cardinality(conkey) = 1) THEN
		LOCK TABLE "payment_links", "orders" IN ACCESS EXCLUSIVE MODE;
		ALTER TABLE "orders" DROP CONSTRAINT "orders_payment_links_orders", ADD CONSTRAINT "orders_payment_links_orders"
			FOREIGN KEY ("payment_link_id", "store_id") REFERENCES "payment_links" ("id", "store_id") ON DELETE NO ACTION NOT VALID;
	END IF;
END $do$;
-- +goose StatementEnd
SET lock_timeout = 0;
ALTER TABLE "order_items" VALIDATE CONSTRAINT "order_items_orders_items";
ALTER TABLE "orders" VALIDATE CONSTRAINT "orders_customers_orders";
ALTER TABLE "orders" VALIDATE CONSTRAINT "orders_payment_links_orders";
SET lock_timeout = '1200ms';

-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"activity_entries"'::regclass AND conname = 'activity_entries_pkey_2026_09') THEN
		ALTER TABLE "activity_entries" DROP CONSTRAINT "activity_entries_pkey_2026_09", ADD CONSTRAINT "activity_entries_pkey" PRIMARY KEY USING INDEX "activity_entries_pkey";
	END IF;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"customers"'::regclass AND conname = 'customers_pkey_2026_09') THEN
		ALTER TABLE "customers" DROP CONSTRAINT "customers_pkey_2026_09", ADD CONSTRAINT "customers_pkey" PRIMARY KEY USING INDEX "customers_pkey";
	END IF;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"events"'::regclass AND conname = 'events_pkey_2026_09') THEN
		ALTER TABLE "events" DROP CONSTRAINT "events_pkey_2026_09", ADD CONSTRAINT "events_pkey" PRIMARY KEY USING INDEX "events_pkey";
	END IF;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"order_items"'::regclass AND conname = 'order_items_pkey_2026_09') THEN
		ALTER TABLE "order_items" DROP CONSTRAINT "order_items_pkey_2026_09", ADD CONSTRAINT "order_items_pkey" PRIMARY KEY USING INDEX "order_items_pkey";
	END IF;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"orders"'::regclass AND conname = 'orders_pkey_2026_09') THEN
		ALTER TABLE "orders" DROP CONSTRAINT "orders_pkey_2026_09", ADD CONSTRAINT "orders_pkey" PRIMARY KEY USING INDEX "orders_pkey";
	END IF;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"payment_links"'::regclass AND conname = 'payment_links_pkey_2026_09') THEN
		ALTER TABLE "payment_links" DROP CONSTRAINT "payment_links_pkey_2026_09", ADD CONSTRAINT "payment_links_pkey" PRIMARY KEY USING INDEX "payment_links_pkey";
	END IF;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = '"products"'::regclass AND conname = 'products_pkey_2026_09') THEN
		ALTER TABLE "products" DROP CONSTRAINT "products_pkey_2026_09", ADD CONSTRAINT "products_pkey" PRIMARY KEY USING INDEX "products_pkey";
	END IF;
END $do$;
-- +goose StatementEnd

-- +goose Up
-- From the tables of release 2026-09, with their rows, to these. It is one transaction. While it runs,
-- servers of that release read and wait to write; at its end readers wait too, for a moment. Behind a lock
-- that somebody holds for long, everybody would wait: then it fails, and can be run again.
SET LOCAL lock_timeout = '5s';
LOCK TABLE "activity_entries", "customers", "events", "order_items", "orders", "payment_links", "products", "stores"
	IN SHARE ROW EXCLUSIVE MODE;

-- What rows pass through is vacuumed by their number: as a share of a table that is mostly empty it
-- would be too late.
CREATE TABLE "deliveries" (
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
CREATE INDEX "delivery_store_id_webhook_id_epoch_retry_due_at_id" ON "deliveries" ("store_id", "webhook_id", "epoch", "retry", "due_at", "id");
CREATE INDEX "delivery_due_at" ON "deliveries" ("due_at");
CREATE INDEX "delivery_store_id_event_id" ON "deliveries" ("store_id", "event_id");
CREATE TABLE "finished_deliveries" (
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
CREATE INDEX "finisheddelivery_store_id_event_id" ON "finished_deliveries" ("store_id", "event_id");
CREATE INDEX "finisheddelivery_store_id_status_id" ON "finished_deliveries" ("store_id", "status", "id");
CREATE TABLE "outbox" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"type" character varying NOT NULL,
	PRIMARY KEY ("id", "store_id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
	autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 10000);
CREATE TABLE "resends" (
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
CREATE INDEX "resend_store_id_webhook_id_created_at" ON "resends" ("store_id", "webhook_id", "created_at");
CREATE INDEX "resend_id" ON "resends" ("id") WHERE finished_at IS NULL;
CREATE TABLE "webhooks" (
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
CREATE INDEX "webhook_store_id_created_at_id" ON "webhooks" ("store_id", "created_at", "id");


CREATE TABLE "idempotency_keys" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"operation" character varying NOT NULL,
	"key" character varying NOT NULL,
	"request" bytea NOT NULL,
	"answer" bytea NOT NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id", "store_id")
);
CREATE UNIQUE INDEX "idempotencykey_store_id_operation_key" ON "idempotency_keys" ("store_id", "operation", "key");
CREATE TABLE "sessions" (
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
CREATE UNIQUE INDEX "session_fingerprint" ON "sessions" ("fingerprint");
CREATE INDEX "session_store_id_created_at_id" ON "sessions" ("store_id", "created_at", "id");
CREATE TABLE "sign_in_links" (
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
CREATE UNIQUE INDEX "signinlink_fingerprint" ON "sign_in_links" ("fingerprint");
CREATE INDEX "signinlink_store_id_created_at_id" ON "sign_in_links" ("store_id", "created_at", "id");

CREATE TABLE "forgettings" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"progress" bytea NOT NULL,
	"finished_at" timestamptz NULL,
	PRIMARY KEY ("id", "store_id")
);
CREATE INDEX "forgetting_id" ON "forgettings" ("id") WHERE finished_at IS NULL;

CREATE TABLE "clock_marks" (
	"id" character varying NOT NULL,
	"seen_at" timestamptz NOT NULL,
	"held_until" timestamptz NULL,
	PRIMARY KEY ("id")
);

CREATE TABLE "refused_requests" (
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
CREATE INDEX "refusedrequest_store_id_key_id_id" ON "refused_requests" ("store_id", "key_id", "id");
CREATE TABLE "tallies" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"subject_id" uuid NOT NULL,
	"began_at" timestamptz NOT NULL,
	"succeeded" bigint NOT NULL DEFAULT 0,
	"failed" bigint NOT NULL DEFAULT 0,
	"duration_ms" bigint NOT NULL DEFAULT 0,
	PRIMARY KEY ("id", "store_id")
);
CREATE UNIQUE INDEX "tally_store_id_subject_id_began_at" ON "tallies" ("store_id", "subject_id", "began_at");

-- How many rows a store has of each kind, counted as they change (package count).
CREATE TABLE "row_counts" (
	"store_id" uuid NOT NULL,
	"kind" character varying NOT NULL,
	"days" integer NOT NULL,
	"first_day" integer NOT NULL,
	"status" character varying NOT NULL,
	"type" character varying NOT NULL,
	"total" bigint NOT NULL,
	PRIMARY KEY ("store_id", "kind", "days", "first_day", "status", "type")
) WITH (fillfactor = 70);
CREATE TABLE "row_deltas" (
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
		('customers', '''''', '''''', ''),
		('orders', 'r.status', '''''', ', status'),
		('payment_links', '''''', '''''', ''),
		('products', 'r.status', 'r.type', ', status, type')) AS v (name, status, type, facets)
	LOOP
		EXECUTE format($f$
CREATE FUNCTION "count_new_%1$s"() RETURNS trigger LANGUAGE plpgsql AS $body$
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
CREATE FUNCTION "count_changed_%1$s"() RETURNS trigger LANGUAGE plpgsql AS $body$
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
		EXECUTE format('CREATE TRIGGER "count_new" AFTER INSERT ON %1$I
			REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION %2$I()', counted.name, 'count_new_' || counted.name);
		EXECUTE format('CREATE TRIGGER "count_deleted" AFTER DELETE ON %1$I
			FOR EACH ROW EXECUTE FUNCTION %2$I()', counted.name, 'count_changed_' || counted.name);
		EXECUTE format('CREATE TRIGGER "count_changed" AFTER UPDATE OF store_id, created_at%3$s ON %1$I
			FOR EACH ROW WHEN ((OLD.store_id, OLD.created_at%4$s) IS DISTINCT FROM (NEW.store_id, NEW.created_at%5$s))
			EXECUTE FUNCTION %2$I()', counted.name, 'count_changed_' || counted.name, counted.facets,
			replace(counted.facets, ', ', ', OLD.'), replace(counted.facets, ', ', ', NEW.'));
		EXECUTE format('INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total)
			SELECT r.store_id, %1$L, 1, (r.created_at AT TIME ZONE ''UTC'')::date - DATE ''1970-01-01'', %2$s, %3$s, count(*)
			FROM %1$I r GROUP BY 1, 4, 5, 6', counted.name, counted.status, counted.type);
	END LOOP;
	INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total)
	SELECT store_id, kind, 32, first_day & -32, status, type, sum(total) FROM row_counts GROUP BY 1, 2, 4, 5, 6;
END $do$;
-- +goose StatementEnd

-- The keys of what belongs to a store have the store, so that tables can be distributed by store. The id
-- comes first: rows are also found by it alone. From the first ALTER of events on, readers wait.
CREATE UNIQUE INDEX "activity_entries_store_key" ON "activity_entries" ("id", "store_id");
CREATE UNIQUE INDEX "customers_store_key" ON "customers" ("id", "store_id");
CREATE UNIQUE INDEX "events_store_key" ON "events" ("id", "store_id");
CREATE UNIQUE INDEX "order_items_store_key" ON "order_items" ("id", "store_id");
CREATE UNIQUE INDEX "orders_store_key" ON "orders" ("id", "store_id");
CREATE UNIQUE INDEX "payment_links_store_key" ON "payment_links" ("id", "store_id");
CREATE UNIQUE INDEX "products_store_key" ON "products" ("id", "store_id");
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_orders_items_new" FOREIGN KEY ("order_id", "store_id")
	REFERENCES "orders" ("id", "store_id") ON DELETE NO ACTION;
ALTER TABLE "orders" ADD CONSTRAINT "orders_customers_orders_new" FOREIGN KEY ("customer_id", "store_id")
	REFERENCES "customers" ("id", "store_id") ON DELETE NO ACTION;
ALTER TABLE "orders" ADD CONSTRAINT "orders_payment_links_orders_new" FOREIGN KEY ("payment_link_id", "store_id")
	REFERENCES "payment_links" ("id", "store_id") ON DELETE NO ACTION;
ALTER TABLE "stores" ADD COLUMN "delete_at" timestamptz NULL, ADD COLUMN "moving" character varying NULL,
	ADD COLUMN "move_run" character varying NOT NULL DEFAULT '', ADD COLUMN "moved_to" character varying NOT NULL DEFAULT '',
	ADD COLUMN "redirect_to" character varying NOT NULL DEFAULT '';
CREATE INDEX "store_delete_at" ON "stores" ("delete_at") WHERE delete_at IS NOT NULL;
CREATE INDEX "store_moving" ON "stores" ("moving") WHERE moving IS NOT NULL;
ALTER TABLE "events" ADD COLUMN "request_id" uuid NULL, ADD COLUMN "trace" character varying NULL;
ALTER TABLE "api_keys" ADD COLUMN "notice_level" bigint NOT NULL DEFAULT 0;
ALTER TABLE "order_items" DROP CONSTRAINT "order_items_orders_items";
ALTER TABLE "order_items" RENAME CONSTRAINT "order_items_orders_items_new" TO "order_items_orders_items";
ALTER TABLE "orders" DROP CONSTRAINT "orders_customers_orders";
ALTER TABLE "orders" RENAME CONSTRAINT "orders_customers_orders_new" TO "orders_customers_orders";
ALTER TABLE "orders" DROP CONSTRAINT "orders_payment_links_orders";
ALTER TABLE "orders" RENAME CONSTRAINT "orders_payment_links_orders_new" TO "orders_payment_links_orders";
ALTER TABLE "activity_entries" DROP CONSTRAINT "activity_entries_pkey",
	ADD CONSTRAINT "activity_entries_pkey" PRIMARY KEY USING INDEX "activity_entries_store_key";
ALTER TABLE "customers" DROP CONSTRAINT "customers_pkey",
	ADD CONSTRAINT "customers_pkey" PRIMARY KEY USING INDEX "customers_store_key";
ALTER TABLE "events" DROP CONSTRAINT "events_pkey",
	ADD CONSTRAINT "events_pkey" PRIMARY KEY USING INDEX "events_store_key";
ALTER TABLE "order_items" DROP CONSTRAINT "order_items_pkey",
	ADD CONSTRAINT "order_items_pkey" PRIMARY KEY USING INDEX "order_items_store_key";
ALTER TABLE "orders" DROP CONSTRAINT "orders_pkey",
	ADD CONSTRAINT "orders_pkey" PRIMARY KEY USING INDEX "orders_store_key";
ALTER TABLE "payment_links" DROP CONSTRAINT "payment_links_pkey",
	ADD CONSTRAINT "payment_links_pkey" PRIMARY KEY USING INDEX "payment_links_store_key";
ALTER TABLE "products" DROP CONSTRAINT "products_pkey",
	ADD CONSTRAINT "products_pkey" PRIMARY KEY USING INDEX "products_store_key";

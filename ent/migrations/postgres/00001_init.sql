-- +goose Up
CREATE TABLE "activity_entries" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"actor_type" character varying NOT NULL,
	"actor_id" character varying NOT NULL,
	"actor_name" character varying NOT NULL,
	"action" character varying NOT NULL,
	"resource_type" character varying NOT NULL,
	"resource_id" uuid NOT NULL,
	"changes" bytea NOT NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
);
CREATE INDEX "activityentry_store_id_created_at_id" ON "activity_entries" ("store_id", "created_at", "id");
CREATE UNLOGGED TABLE "address_counters" (
	"id" character varying NOT NULL,
	"minute" bigint NOT NULL,
	"count" integer NOT NULL,
	PRIMARY KEY ("id")
) WITH (fillfactor = 50);
CREATE INDEX "addresscounter_minute" ON "address_counters" ("minute");
CREATE TABLE "events" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"type" character varying NOT NULL,
	"payload" bytea NOT NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
);
CREATE INDEX "event_store_id_created_at_id" ON "events" ("store_id", "created_at", "id");
CREATE UNLOGGED TABLE "rate_counters" (
	"id" uuid NOT NULL,
	"minute" bigint NOT NULL,
	"count" integer NOT NULL,
	PRIMARY KEY ("id")
) WITH (fillfactor = 50);
CREATE TABLE "stores" (
	"id" uuid NOT NULL,
	"name" character varying NOT NULL,
	"slug" character varying NOT NULL,
	"url" character varying NOT NULL,
	"description" character varying NOT NULL DEFAULT '',
	"currency" character varying NOT NULL,
	"country" character varying NOT NULL,
	"support_email" character varying NOT NULL DEFAULT '',
	"phone" character varying NOT NULL DEFAULT '',
	"whatsapp_phone" character varying NOT NULL DEFAULT '',
	"social_links" jsonb NOT NULL,
	"status" character varying NOT NULL DEFAULT 'open',
	"payment_links_open" boolean NOT NULL DEFAULT true,
	"unavailable_types" jsonb NOT NULL,
	"platform_fee_percent" double precision NOT NULL DEFAULT 0,
	"created_at" timestamptz NOT NULL,
	"updated_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "store_slug" ON "stores" ("slug");
CREATE INDEX "store_created_at_id" ON "stores" ("created_at", "id");
CREATE TABLE "api_keys" (
	"id" uuid NOT NULL,
	"name" character varying NOT NULL,
	"fingerprint" bytea NOT NULL,
	"hint" character varying NOT NULL,
	"scopes" jsonb NOT NULL,
	"expires_at" timestamptz NULL,
	"revoked_at" timestamptz NULL,
	"last_used_at" timestamptz NULL,
	"created_at" timestamptz NOT NULL,
	"store_id" uuid NOT NULL,
	PRIMARY KEY ("id"),
	CONSTRAINT "api_keys_stores_api_keys" FOREIGN KEY ("store_id") REFERENCES "stores" ("id") ON DELETE NO ACTION
);
CREATE UNIQUE INDEX "apikey_fingerprint" ON "api_keys" ("fingerprint");
CREATE INDEX "apikey_store_id_created_at_id" ON "api_keys" ("store_id", "created_at", "id");
CREATE TABLE "customers" (
	"id" uuid NOT NULL,
	"name" character varying NOT NULL DEFAULT '',
	"email" character varying NULL,
	"phone" character varying NULL,
	"search" character varying NOT NULL,
	"orders_count" integer NOT NULL DEFAULT 0,
	"total_paid" bigint NOT NULL DEFAULT 0,
	"created_at" timestamptz NOT NULL,
	"updated_at" timestamptz NOT NULL,
	"store_id" uuid NOT NULL,
	PRIMARY KEY ("id"),
	CONSTRAINT "customers_stores_customers" FOREIGN KEY ("store_id") REFERENCES "stores" ("id") ON DELETE NO ACTION,
	CONSTRAINT "customer_identified" CHECK (email IS NOT NULL OR phone IS NOT NULL)
);
CREATE UNIQUE INDEX "customer_store_id_email" ON "customers" ("store_id", "email");
CREATE UNIQUE INDEX "customer_store_id_phone" ON "customers" ("store_id", "phone");
CREATE INDEX "customer_store_id_created_at_id" ON "customers" ("store_id", "created_at", "id");
CREATE TABLE "payment_links" (
	"id" uuid NOT NULL,
	"code" character varying NOT NULL,
	"url" character varying NOT NULL,
	"title" character varying NOT NULL,
	"description" text NULL,
	"cover_url" character varying NULL,
	"pricing" character varying NOT NULL,
	"amount" bigint NULL,
	"min_amount" bigint NULL,
	"thank_you_message" text NULL,
	"expires_at" timestamptz NULL,
	"max_payments" integer NULL,
	"disabled_at" timestamptz NULL,
	"paid_count" integer NOT NULL DEFAULT 0,
	"paid_amount" bigint NOT NULL DEFAULT 0,
	"last_paid_at" timestamptz NULL,
	"created_at" timestamptz NOT NULL,
	"updated_at" timestamptz NOT NULL,
	"store_id" uuid NOT NULL,
	PRIMARY KEY ("id"),
	CONSTRAINT "payment_links_stores_payment_links" FOREIGN KEY ("store_id") REFERENCES "stores" ("id") ON DELETE NO ACTION
);
CREATE UNIQUE INDEX "paymentlink_store_id_code" ON "payment_links" ("store_id", "code");
CREATE INDEX "paymentlink_store_id_created_at_id" ON "payment_links" ("store_id", "created_at", "id");
CREATE TABLE "orders" (
	"id" uuid NOT NULL,
	"reference" character varying NOT NULL,
	"status" character varying NOT NULL DEFAULT 'PENDING',
	"amount" bigint NOT NULL,
	"platform_fee_percent" double precision NOT NULL,
	"note" character varying NULL,
	"paid_at" timestamptz NULL,
	"created_at" timestamptz NOT NULL,
	"updated_at" timestamptz NOT NULL,
	"customer_id" uuid NOT NULL,
	"payment_link_id" uuid NULL,
	"store_id" uuid NOT NULL,
	PRIMARY KEY ("id"),
	CONSTRAINT "orders_customers_orders" FOREIGN KEY ("customer_id") REFERENCES "customers" ("id") ON DELETE NO ACTION,
	CONSTRAINT "orders_payment_links_orders" FOREIGN KEY ("payment_link_id") REFERENCES "payment_links" ("id") ON DELETE SET NULL,
	CONSTRAINT "orders_stores_orders" FOREIGN KEY ("store_id") REFERENCES "stores" ("id") ON DELETE NO ACTION
);
CREATE UNIQUE INDEX "order_store_id_reference" ON "orders" ("store_id", "reference");
CREATE INDEX "order_store_id_created_at_id" ON "orders" ("store_id", "created_at", "id");
CREATE INDEX "order_store_id_status_created_at_id" ON "orders" ("store_id", "status", "created_at", "id");
CREATE INDEX "order_store_id_customer_id" ON "orders" ("store_id", "customer_id");
CREATE INDEX "order_store_id_payment_link_id" ON "orders" ("store_id", "payment_link_id");
CREATE TABLE "order_items" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"product_id" uuid NOT NULL,
	"type" character varying NOT NULL,
	"title" character varying NOT NULL,
	"unit_amount" bigint NOT NULL,
	"quantity" integer NOT NULL,
	"order_id" uuid NOT NULL,
	PRIMARY KEY ("id"),
	CONSTRAINT "order_items_orders_items" FOREIGN KEY ("order_id") REFERENCES "orders" ("id") ON DELETE NO ACTION
);
CREATE UNIQUE INDEX "orderitem_store_id_order_id_position" ON "order_items" ("store_id", "order_id", "position");
CREATE TABLE "products" (
	"id" uuid NOT NULL,
	"title" character varying NOT NULL,
	"title_folded" character varying NOT NULL,
	"slug" character varying NOT NULL,
	"type" character varying NOT NULL,
	"status" character varying NOT NULL DEFAULT 'DRAFT',
	"summary" character varying NOT NULL DEFAULT '',
	"description" text NOT NULL DEFAULT '',
	"price_amount" bigint NOT NULL,
	"compare_at_amount" bigint NULL,
	"url" character varying NOT NULL,
	"cover_url" character varying NULL,
	"content_ready" boolean NOT NULL DEFAULT false,
	"published_at" timestamptz NULL,
	"created_at" timestamptz NOT NULL,
	"updated_at" timestamptz NOT NULL,
	"store_id" uuid NOT NULL,
	PRIMARY KEY ("id"),
	CONSTRAINT "products_stores_products" FOREIGN KEY ("store_id") REFERENCES "stores" ("id") ON DELETE NO ACTION
);
CREATE UNIQUE INDEX "product_store_id_slug" ON "products" ("store_id", "slug");
CREATE INDEX "product_store_id_created_at_id" ON "products" ("store_id", "created_at", "id");
CREATE INDEX "product_store_id_status_created_at_id" ON "products" ("store_id", "status", "created_at", "id");
CREATE INDEX "product_store_id_type_created_at_id" ON "products" ("store_id", "type", "created_at", "id");
CREATE INDEX "product_store_id_status_type_created_at_id" ON "products" ("store_id", "status", "type", "created_at", "id");

-- Added by hand. The counters above are unlogged, and half empty so that an update stays in its
-- page: losing them in a crash forgives a minute.

-- A search finds its store's rows by the trigrams of their text.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE INDEX "product_search" ON "products" USING gin ("store_id", "title_folded" gin_trgm_ops);
CREATE INDEX "customer_search" ON "customers" USING gin ("store_id", "search" gin_trgm_ops);

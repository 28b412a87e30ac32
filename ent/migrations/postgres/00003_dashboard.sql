-- +goose Up
ALTER TABLE "events" ADD COLUMN "request_id" uuid NULL, ADD COLUMN "trace" character varying NULL;
CREATE TABLE "idempotency_keys" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"operation" character varying NOT NULL,
	"key" character varying NOT NULL,
	"request" bytea NOT NULL,
	"answer" bytea NOT NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
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
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "session_fingerprint" ON "sessions" ("fingerprint");
CREATE TABLE "sign_in_links" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"fingerprint" bytea NOT NULL,
	"member" character varying NOT NULL,
	"role" character varying NOT NULL,
	"expires_at" timestamptz NOT NULL,
	"used_at" timestamptz NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "signinlink_fingerprint" ON "sign_in_links" ("fingerprint");

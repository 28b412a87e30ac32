-- +goose Up
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
	PRIMARY KEY ("id")
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
	PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "tally_store_id_subject_id_began_at" ON "tallies" ("store_id", "subject_id", "began_at");

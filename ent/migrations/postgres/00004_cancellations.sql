-- +goose Up
-- The outbox before the deliveries, as workers take them.
CREATE INDEX "outboxentry_store_id_event_id" ON "outbox" ("store_id", "event_id");
ALTER TABLE "deliveries" ADD COLUMN "epoch" bigint NOT NULL DEFAULT 0;
CREATE INDEX "delivery_store_id_event_id" ON "deliveries" ("store_id", "event_id");
ALTER TABLE "resends" ADD COLUMN "again_since" timestamptz NULL, ADD COLUMN "stopped" boolean NOT NULL DEFAULT false;
ALTER TABLE "webhooks" ADD COLUMN "epoch" bigint NOT NULL DEFAULT 1, ADD COLUMN "epoch_since" timestamptz NULL;
CREATE TABLE "cancellations" (
	"id" uuid NOT NULL,
	"store_id" uuid NOT NULL,
	"webhook_id" uuid NOT NULL,
	"epoch" bigint NOT NULL,
	"position_retry" boolean NOT NULL DEFAULT false,
	"position_due_at" timestamptz NOT NULL,
	"position_id" uuid NOT NULL,
	"found" bigint NOT NULL DEFAULT 0,
	"due_at" timestamptz NOT NULL,
	"created_at" timestamptz NOT NULL,
	PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "cancellation_store_id_webhook_id_epoch" ON "cancellations" ("store_id", "webhook_id", "epoch");
CREATE INDEX "cancellation_due_at" ON "cancellations" ("due_at");

-- +goose Up
ALTER TABLE "stores" ADD COLUMN "deletion_began_at" timestamptz NULL;
ALTER TABLE "forgettings" ADD COLUMN "log_waits_for" character varying NULL;
CREATE INDEX "forgetting_log_waits_for" ON "forgettings" ("log_waits_for") WHERE log_waits_for IS NOT NULL;

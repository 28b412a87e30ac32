-- +goose Up
ALTER TABLE "forgettings" ADD COLUMN "begun_at" timestamptz NULL;
ALTER TABLE "forgettings" ADD COLUMN "due_at" timestamptz NULL;
ALTER TABLE "forgettings" ADD COLUMN "failures" bigint NOT NULL DEFAULT 0;
DROP INDEX "forgetting_id";
CREATE INDEX "forgetting_due_at_id" ON "forgettings" ("due_at", "id") WHERE finished_at IS NULL;

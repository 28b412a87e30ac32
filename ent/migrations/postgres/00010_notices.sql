-- +goose Up
-- One webhook has no store: it gets the notices. No row keeps which notice was written last. No release had these columns.
CREATE UNIQUE INDEX "webhook_without_store" ON "webhooks" ("store_id") WHERE store_id = '00000000-0000-0000-0000-000000000000';
ALTER TABLE "webhooks" DROP COLUMN "notice_level", DROP COLUMN "notice_id";
ALTER TABLE "api_keys" DROP COLUMN "notice_level";

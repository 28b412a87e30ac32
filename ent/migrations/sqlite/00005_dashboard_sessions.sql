-- +goose Up
ALTER TABLE `sessions` ADD COLUMN `origin` text NULL;
ALTER TABLE `sessions` ADD COLUMN `last_used_at` datetime NULL;
CREATE INDEX `session_store_id_created_at_id` ON `sessions` (`store_id`, `created_at`, `id`);
ALTER TABLE `sign_in_links` ADD COLUMN `origin` text NULL;
ALTER TABLE `sign_in_links` ADD COLUMN `revoked_at` datetime NULL;
CREATE INDEX `signinlink_store_id_created_at_id` ON `sign_in_links` (`store_id`, `created_at`, `id`);

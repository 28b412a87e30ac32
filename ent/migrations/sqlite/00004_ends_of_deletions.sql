-- +goose Up
ALTER TABLE `stores` ADD COLUMN `deletion_began_at` datetime NULL;
ALTER TABLE `forgettings` ADD COLUMN `log_waits_for` text NULL;
CREATE INDEX `forgetting_log_waits_for` ON `forgettings` (`log_waits_for`) WHERE log_waits_for IS NOT NULL;

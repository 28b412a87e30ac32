-- +goose Up
ALTER TABLE `deliveries` ADD COLUMN `epoch` integer NOT NULL DEFAULT 0;
CREATE INDEX `delivery_store_id_event_id` ON `deliveries` (`store_id`, `event_id`);
CREATE INDEX `outboxentry_store_id_event_id` ON `outbox` (`store_id`, `event_id`);
ALTER TABLE `resends` ADD COLUMN `again_since` datetime NULL;
ALTER TABLE `resends` ADD COLUMN `stopped` bool NOT NULL DEFAULT false;
ALTER TABLE `webhooks` ADD COLUMN `epoch` integer NOT NULL DEFAULT 1;
ALTER TABLE `webhooks` ADD COLUMN `epoch_since` datetime NULL;
CREATE TABLE `cancellations` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`webhook_id` uuid NOT NULL,
	`epoch` integer NOT NULL,
	`position_retry` bool NOT NULL DEFAULT (false),
	`position_due_at` datetime NOT NULL,
	`position_id` uuid NOT NULL,
	`found` integer NOT NULL DEFAULT (0),
	`due_at` datetime NOT NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `cancellation_store_id_webhook_id_epoch` ON `cancellations` (`store_id`, `webhook_id`, `epoch`);
CREATE INDEX `cancellation_due_at` ON `cancellations` (`due_at`);

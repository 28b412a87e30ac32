-- +goose Up
CREATE TABLE `deliveries` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`webhook_id` uuid NOT NULL,
	`event_id` uuid NOT NULL,
	`event_type` text NOT NULL,
	`retry` bool NOT NULL DEFAULT (false),
	`due_at` datetime NOT NULL,
	`lease` uuid NULL,
	`attempts` blob NOT NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `delivery_store_id_webhook_id_retry_due_at_id` ON `deliveries` (`store_id`, `webhook_id`, `retry`, `due_at`, `id`);
CREATE INDEX `delivery_due_at` ON `deliveries` (`due_at`);
CREATE TABLE `finished_deliveries` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`webhook_id` uuid NOT NULL,
	`event_id` uuid NOT NULL,
	`event_type` text NOT NULL,
	`status` text NOT NULL,
	`attempts` blob NOT NULL,
	`created_at` datetime NOT NULL,
	`finished_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `finisheddelivery_store_id_event_id` ON `finished_deliveries` (`store_id`, `event_id`);
CREATE INDEX `finisheddelivery_store_id_status_id` ON `finished_deliveries` (`store_id`, `status`, `id`);
CREATE TABLE `outbox` (
	`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
	`event_id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`type` text NOT NULL
);
CREATE TABLE `resends` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`webhook_id` uuid NOT NULL,
	`since` datetime NOT NULL,
	`until` datetime NOT NULL,
	`position_at` datetime NOT NULL,
	`position_id` uuid NOT NULL,
	`resent` integer NOT NULL DEFAULT (0),
	`due_at` datetime NOT NULL,
	`created_at` datetime NOT NULL,
	`finished_at` datetime NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `resend_store_id_webhook_id_created_at` ON `resends` (`store_id`, `webhook_id`, `created_at`);
CREATE INDEX `resend_due_at` ON `resends` (`due_at`) WHERE finished_at IS NULL;
CREATE TABLE `webhooks` (
	`id` uuid NOT NULL,
	`url` text NOT NULL,
	`description` text NOT NULL DEFAULT (''),
	`events` json NOT NULL,
	`secret` blob NOT NULL,
	`secret_key` text NOT NULL,
	`enabled` bool NOT NULL DEFAULT (true),
	`disabled_at` datetime NULL,
	`disabled_automatically` bool NOT NULL DEFAULT (false),
	`failing_since` datetime NULL,
	`created_at` datetime NOT NULL,
	`updated_at` datetime NOT NULL,
	`store_id` uuid NOT NULL,
	PRIMARY KEY (`id`),
	CONSTRAINT `webhooks_stores_webhooks` FOREIGN KEY (`store_id`) REFERENCES `stores` (`id`) ON DELETE NO ACTION
);
CREATE INDEX `webhook_store_id_created_at_id` ON `webhooks` (`store_id`, `created_at`, `id`);

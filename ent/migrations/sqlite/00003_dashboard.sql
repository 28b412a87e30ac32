-- +goose Up
ALTER TABLE `events` ADD COLUMN `request_id` uuid NULL;
ALTER TABLE `events` ADD COLUMN `trace` text NULL;
CREATE TABLE `idempotency_keys` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`operation` text NOT NULL,
	`key` text NOT NULL,
	`request` blob NOT NULL,
	`answer` blob NOT NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `idempotencykey_store_id_operation_key` ON `idempotency_keys` (`store_id`, `operation`, `key`);
CREATE TABLE `sessions` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`fingerprint` blob NOT NULL,
	`member` text NOT NULL,
	`role` text NOT NULL,
	`expires_at` datetime NOT NULL,
	`ended_at` datetime NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `session_fingerprint` ON `sessions` (`fingerprint`);
CREATE TABLE `sign_in_links` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`fingerprint` blob NOT NULL,
	`member` text NOT NULL,
	`role` text NOT NULL,
	`expires_at` datetime NOT NULL,
	`used_at` datetime NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `signinlink_fingerprint` ON `sign_in_links` (`fingerprint`);

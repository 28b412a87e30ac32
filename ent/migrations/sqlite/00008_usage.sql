-- +goose Up
CREATE TABLE `refused_requests` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`key_id` uuid NOT NULL,
	`request_id` uuid NOT NULL,
	`method` text NOT NULL,
	`route` text NOT NULL,
	`status` integer NOT NULL,
	`code` text NOT NULL,
	`fields` text NOT NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `refusedrequest_store_id_key_id_id` ON `refused_requests` (`store_id`, `key_id`, `id`);
CREATE TABLE `tallies` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`subject_id` uuid NOT NULL,
	`began_at` datetime NOT NULL,
	`succeeded` integer NOT NULL DEFAULT (0),
	`failed` integer NOT NULL DEFAULT (0),
	`duration_ms` integer NOT NULL DEFAULT (0),
	PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `tally_store_id_subject_id_began_at` ON `tallies` (`store_id`, `subject_id`, `began_at`);

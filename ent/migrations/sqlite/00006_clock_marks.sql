-- +goose Up
CREATE TABLE `clock_marks` (
	`id` text NOT NULL,
	`seen_at` datetime NOT NULL,
	`held_until` datetime NULL,
	PRIMARY KEY (`id`)
);

-- +goose Up
-- Changes the tables of release 2026-09, with their rows, into the tables of this release. On PostgreSQL most primary
-- keys contain store_id, so that the tables can be distributed. On SQLite they do not: a file is not distributed, and
-- SQLite would have to rebuild every table to change its primary key.
ALTER TABLE `events` ADD COLUMN `request_id` uuid NULL;
ALTER TABLE `events` ADD COLUMN `trace` text NULL;
ALTER TABLE `api_keys` ADD COLUMN `notice_level` integer NOT NULL DEFAULT (0);
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
	`epoch` integer NOT NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `delivery_store_id_webhook_id_epoch_retry_due_at_id` ON `deliveries` (`store_id`, `webhook_id`, `epoch`, `retry`, `due_at`, `id`);
CREATE INDEX `delivery_due_at` ON `deliveries` (`due_at`);
CREATE INDEX `delivery_store_id_event_id` ON `deliveries` (`store_id`, `event_id`);
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
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`type` text NOT NULL,
	PRIMARY KEY (`id`)
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
	`created_at` datetime NOT NULL,
	`finished_at` datetime NULL,
	`stopped` bool NOT NULL DEFAULT (false),
	PRIMARY KEY (`id`)
);
CREATE INDEX `resend_store_id_webhook_id_created_at` ON `resends` (`store_id`, `webhook_id`, `created_at`);
CREATE INDEX `resend_id` ON `resends` (`id`) WHERE finished_at IS NULL;
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
	`epoch` integer NOT NULL DEFAULT (1),
	`notice_level` integer NOT NULL DEFAULT (0),
	`notice_id` uuid NULL,
	`created_at` datetime NOT NULL,
	`updated_at` datetime NOT NULL,
	`store_id` uuid NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `webhook_store_id_created_at_id` ON `webhooks` (`store_id`, `created_at`, `id`);
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
	`origin` text NULL,
	`last_used_at` datetime NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `session_fingerprint` ON `sessions` (`fingerprint`);
CREATE INDEX `session_store_id_created_at_id` ON `sessions` (`store_id`, `created_at`, `id`);
CREATE TABLE `sign_in_links` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`fingerprint` blob NOT NULL,
	`member` text NOT NULL,
	`role` text NOT NULL,
	`expires_at` datetime NOT NULL,
	`used_at` datetime NULL,
	`origin` text NULL,
	`revoked_at` datetime NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `signinlink_fingerprint` ON `sign_in_links` (`fingerprint`);
CREATE INDEX `signinlink_store_id_created_at_id` ON `sign_in_links` (`store_id`, `created_at`, `id`);
CREATE TABLE `forgettings` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`progress` blob NOT NULL,
	`finished_at` datetime NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `forgetting_id` ON `forgettings` (`id`) WHERE finished_at IS NULL;
ALTER TABLE `stores` ADD COLUMN `delete_at` datetime NULL;
ALTER TABLE `stores` ADD COLUMN `moving` text NULL;
ALTER TABLE `stores` ADD COLUMN `move_run` text NOT NULL DEFAULT ('');
ALTER TABLE `stores` ADD COLUMN `moved_to` text NOT NULL DEFAULT ('');
ALTER TABLE `stores` ADD COLUMN `redirect_to` text NOT NULL DEFAULT ('');
CREATE INDEX `store_delete_at` ON `stores` (`delete_at`) WHERE delete_at IS NOT NULL;
CREATE INDEX `store_moving` ON `stores` (`moving`) WHERE moving IS NOT NULL;
CREATE TABLE `clock_marks` (
	`id` text NOT NULL,
	`seen_at` datetime NOT NULL,
	`held_until` datetime NULL,
	PRIMARY KEY (`id`)
);
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
-- How many rows a store has of each kind, counted as they change (package count).
CREATE TABLE `row_counts` (
	`store_id` uuid NOT NULL,
	`kind` text NOT NULL,
	`days` integer NOT NULL,
	`first_day` integer NOT NULL,
	`status` text NOT NULL,
	`type` text NOT NULL,
	`total` integer NOT NULL,
	PRIMARY KEY (`store_id`, `kind`, `days`, `first_day`, `status`, `type`)
) WITHOUT ROWID;
-- SQLite has one writer, so a trigger adds each row delta to the counts at once, and this view is always empty.
CREATE VIEW `row_deltas` AS SELECT store_id, kind, first_day AS day, status, type, total AS change FROM row_counts WHERE false;
-- +goose StatementBegin
CREATE TRIGGER `row_deltas_added` INSTEAD OF INSERT ON `row_deltas` BEGIN
	INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total)
	VALUES (NEW.store_id, NEW.kind, 1, NEW.day, NEW.status, NEW.type, NEW.change),
		(NEW.store_id, NEW.kind, 32, NEW.day & -32, NEW.status, NEW.type, NEW.change)
	ON CONFLICT DO UPDATE SET total = total + excluded.total;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `customers_count_new` AFTER INSERT ON `customers` BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (NEW.store_id, 'customers', NEW.created_at / 86400000 - (NEW.created_at % 86400000 < 0), '', '', 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `customers_count_deleted` AFTER DELETE ON `customers` BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, 'customers', OLD.created_at / 86400000 - (OLD.created_at % 86400000 < 0), '', '', -1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `customers_count_changed` AFTER UPDATE OF store_id, created_at ON `customers`
WHEN (OLD.store_id, OLD.created_at) IS NOT (NEW.store_id, NEW.created_at) BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, 'customers', OLD.created_at / 86400000 - (OLD.created_at % 86400000 < 0), '', '', -1);
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (NEW.store_id, 'customers', NEW.created_at / 86400000 - (NEW.created_at % 86400000 < 0), '', '', 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `orders_count_new` AFTER INSERT ON `orders` BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (NEW.store_id, 'orders', NEW.created_at / 86400000 - (NEW.created_at % 86400000 < 0), NEW.status, '', 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `orders_count_deleted` AFTER DELETE ON `orders` BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, 'orders', OLD.created_at / 86400000 - (OLD.created_at % 86400000 < 0), OLD.status, '', -1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `orders_count_changed` AFTER UPDATE OF store_id, created_at, status ON `orders`
WHEN (OLD.store_id, OLD.created_at, OLD.status) IS NOT (NEW.store_id, NEW.created_at, NEW.status) BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, 'orders', OLD.created_at / 86400000 - (OLD.created_at % 86400000 < 0), OLD.status, '', -1);
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (NEW.store_id, 'orders', NEW.created_at / 86400000 - (NEW.created_at % 86400000 < 0), NEW.status, '', 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `payment_links_count_new` AFTER INSERT ON `payment_links` BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (NEW.store_id, 'payment_links', NEW.created_at / 86400000 - (NEW.created_at % 86400000 < 0), '', '', 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `payment_links_count_deleted` AFTER DELETE ON `payment_links` BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, 'payment_links', OLD.created_at / 86400000 - (OLD.created_at % 86400000 < 0), '', '', -1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `payment_links_count_changed` AFTER UPDATE OF store_id, created_at ON `payment_links`
WHEN (OLD.store_id, OLD.created_at) IS NOT (NEW.store_id, NEW.created_at) BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, 'payment_links', OLD.created_at / 86400000 - (OLD.created_at % 86400000 < 0), '', '', -1);
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (NEW.store_id, 'payment_links', NEW.created_at / 86400000 - (NEW.created_at % 86400000 < 0), '', '', 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `products_count_new` AFTER INSERT ON `products` BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (NEW.store_id, 'products', NEW.created_at / 86400000 - (NEW.created_at % 86400000 < 0), NEW.status, NEW.type, 1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `products_count_deleted` AFTER DELETE ON `products` BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, 'products', OLD.created_at / 86400000 - (OLD.created_at % 86400000 < 0), OLD.status, OLD.type, -1);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `products_count_changed` AFTER UPDATE OF store_id, created_at, status, type ON `products`
WHEN (OLD.store_id, OLD.created_at, OLD.status, OLD.type) IS NOT (NEW.store_id, NEW.created_at, NEW.status, NEW.type) BEGIN
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (OLD.store_id, 'products', OLD.created_at / 86400000 - (OLD.created_at % 86400000 < 0), OLD.status, OLD.type, -1);
	INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	VALUES (NEW.store_id, 'products', NEW.created_at / 86400000 - (NEW.created_at % 86400000 < 0), NEW.status, NEW.type, 1);
END;
-- +goose StatementEnd
INSERT INTO row_deltas (store_id, kind, day, status, type, change)
	SELECT store_id, 'customers', created_at / 86400000 - (created_at % 86400000 < 0), '', '', count(*)
		FROM customers GROUP BY 1, 3, 4, 5
	UNION ALL
	SELECT store_id, 'orders', created_at / 86400000 - (created_at % 86400000 < 0), status, '', count(*)
		FROM orders GROUP BY 1, 3, 4, 5
	UNION ALL
	SELECT store_id, 'payment_links', created_at / 86400000 - (created_at % 86400000 < 0), '', '', count(*)
		FROM payment_links GROUP BY 1, 3, 4, 5
	UNION ALL
	SELECT store_id, 'products', created_at / 86400000 - (created_at % 86400000 < 0), status, type, count(*)
		FROM products GROUP BY 1, 3, 4, 5;
-- Without statistics SQLite assumes that a store has ten rows, and reads all rows of the store to find five ids. These
-- statements say that a store has ten thousand rows, so that SQLite looks the ids up. A migration that adds an index which
-- begins with store_id repeats the three statements.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat)
	SELECT t.name, i.name, '1000000 10000' || COALESCE((
		SELECT group_concat(iif(i.`unique` AND c.seqno = (SELECT max(seqno) FROM pragma_index_info(i.name)), ' 1', ' 10'), '')
			FROM pragma_index_info(i.name) c WHERE c.seqno > 0), '')
		FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) first
		WHERE t.type = 'table' AND first.seqno = 0 AND first.name = 'store_id';

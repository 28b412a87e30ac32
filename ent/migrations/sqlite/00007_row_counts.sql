-- +goose Up
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
CREATE TABLE `row_count_fills` (
	`kind` text NOT NULL,
	`store_id` uuid NULL,
	`next_day` integer NULL,
	`done` bool NOT NULL,
	PRIMARY KEY (`kind`)
);
-- There is one writer, so a difference is added at once: this holds none.
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
-- From here on every new row is counted. An empty table is counted as a whole.
INSERT INTO `row_count_fills` (`kind`, `done`) VALUES
	('customers', NOT EXISTS (SELECT 1 FROM `customers`)),
	('orders', NOT EXISTS (SELECT 1 FROM `orders`)),
	('payment_links', NOT EXISTS (SELECT 1 FROM `payment_links`)),
	('products', NOT EXISTS (SELECT 1 FROM `products`));

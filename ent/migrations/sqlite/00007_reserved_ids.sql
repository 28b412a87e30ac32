-- +goose Up
-- No row has an id that the service reserves (IsReserved in ent/id). These are triggers, because SQLite adds no constraint to a
-- table that exists. `storefront doctor` names old rows.
-- +goose StatementBegin
CREATE TRIGGER `activity_entries_reserved_id` BEFORE INSERT ON `activity_entries`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `api_keys_reserved_id` BEFORE INSERT ON `api_keys`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `customers_reserved_id` BEFORE INSERT ON `customers`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `events_reserved_id` BEFORE INSERT ON `events`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `finished_deliveries_reserved_id` BEFORE INSERT ON `finished_deliveries`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `order_items_reserved_id` BEFORE INSERT ON `order_items`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `orders_reserved_id` BEFORE INSERT ON `orders`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `payment_links_reserved_id` BEFORE INSERT ON `payment_links`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `products_reserved_id` BEFORE INSERT ON `products`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `stores_reserved_id` BEFORE INSERT ON `stores`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER `webhooks_reserved_id` BEFORE INSERT ON `webhooks`
	WHEN NEW.`id` IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
BEGIN
	SELECT RAISE(ABORT, 'CHECK constraint failed: reserved_id');
END;
-- +goose StatementEnd

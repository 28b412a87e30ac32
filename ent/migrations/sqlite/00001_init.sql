-- +goose Up
CREATE TABLE `activity_entries` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`actor_name` text NOT NULL,
	`action` text NOT NULL,
	`resource_type` text NOT NULL,
	`resource_id` uuid NOT NULL,
	`changes` blob NOT NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `activityentry_store_id_created_at_id` ON `activity_entries` (`store_id`, `created_at`, `id`);
CREATE TABLE `address_counters` (
	`id` text NOT NULL,
	`minute` integer NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `addresscounter_minute` ON `address_counters` (`minute`);
CREATE TABLE `api_keys` (
	`id` uuid NOT NULL,
	`name` text NOT NULL,
	`fingerprint` blob NOT NULL,
	`hint` text NOT NULL,
	`scopes` json NOT NULL,
	`expires_at` datetime NULL,
	`revoked_at` datetime NULL,
	`last_used_at` datetime NULL,
	`created_at` datetime NOT NULL,
	`store_id` uuid NOT NULL,
	PRIMARY KEY (`id`),
	CONSTRAINT `api_keys_stores_api_keys` FOREIGN KEY (`store_id`) REFERENCES `stores` (`id`) ON DELETE NO ACTION
);
CREATE UNIQUE INDEX `apikey_fingerprint` ON `api_keys` (`fingerprint`);
CREATE INDEX `apikey_store_id_created_at_id` ON `api_keys` (`store_id`, `created_at`, `id`);
CREATE TABLE `customers` (
	`id` uuid NOT NULL,
	`name` text NOT NULL DEFAULT (''),
	`email` text NULL,
	`phone` text NULL,
	`search` text NOT NULL,
	`orders_count` integer NOT NULL DEFAULT (0),
	`total_paid` integer NOT NULL DEFAULT (0),
	`created_at` datetime NOT NULL,
	`updated_at` datetime NOT NULL,
	`store_id` uuid NOT NULL,
	PRIMARY KEY (`id`),
	CONSTRAINT `customers_stores_customers` FOREIGN KEY (`store_id`) REFERENCES `stores` (`id`) ON DELETE NO ACTION,
	CONSTRAINT `customer_identified` CHECK (email IS NOT NULL OR phone IS NOT NULL)
);
CREATE UNIQUE INDEX `customer_store_id_email` ON `customers` (`store_id`, `email`);
CREATE UNIQUE INDEX `customer_store_id_phone` ON `customers` (`store_id`, `phone`);
CREATE INDEX `customer_store_id_created_at_id` ON `customers` (`store_id`, `created_at`, `id`);
CREATE TABLE `events` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`type` text NOT NULL,
	`payload` blob NOT NULL,
	`created_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE INDEX `event_store_id_created_at_id` ON `events` (`store_id`, `created_at`, `id`);
CREATE TABLE `orders` (
	`id` uuid NOT NULL,
	`reference` text NOT NULL,
	`status` text NOT NULL DEFAULT ('PENDING'),
	`amount` integer NOT NULL,
	`platform_fee_percent` real NOT NULL,
	`note` text NULL,
	`paid_at` datetime NULL,
	`created_at` datetime NOT NULL,
	`updated_at` datetime NOT NULL,
	`customer_id` uuid NOT NULL,
	`payment_link_id` uuid NULL,
	`store_id` uuid NOT NULL,
	PRIMARY KEY (`id`),
	CONSTRAINT `orders_customers_orders` FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`) ON DELETE NO ACTION,
	CONSTRAINT `orders_payment_links_orders` FOREIGN KEY (`payment_link_id`) REFERENCES `payment_links` (`id`) ON DELETE SET NULL,
	CONSTRAINT `orders_stores_orders` FOREIGN KEY (`store_id`) REFERENCES `stores` (`id`) ON DELETE NO ACTION
);
CREATE UNIQUE INDEX `order_store_id_reference` ON `orders` (`store_id`, `reference`);
CREATE INDEX `order_store_id_created_at_id` ON `orders` (`store_id`, `created_at`, `id`);
CREATE INDEX `order_store_id_status_created_at_id` ON `orders` (`store_id`, `status`, `created_at`, `id`);
CREATE INDEX `order_store_id_customer_id` ON `orders` (`store_id`, `customer_id`);
CREATE INDEX `order_store_id_payment_link_id` ON `orders` (`store_id`, `payment_link_id`);
CREATE TABLE `order_items` (
	`id` uuid NOT NULL,
	`store_id` uuid NOT NULL,
	`position` integer NOT NULL,
	`product_id` uuid NOT NULL,
	`type` text NOT NULL,
	`title` text NOT NULL,
	`unit_amount` integer NOT NULL,
	`quantity` integer NOT NULL,
	`order_id` uuid NOT NULL,
	PRIMARY KEY (`id`),
	CONSTRAINT `order_items_orders_items` FOREIGN KEY (`order_id`) REFERENCES `orders` (`id`) ON DELETE NO ACTION
);
CREATE UNIQUE INDEX `orderitem_store_id_order_id_position` ON `order_items` (`store_id`, `order_id`, `position`);
CREATE TABLE `payment_links` (
	`id` uuid NOT NULL,
	`code` text NOT NULL,
	`url` text NOT NULL,
	`title` text NOT NULL,
	`description` text NULL,
	`cover_url` text NULL,
	`pricing` text NOT NULL,
	`amount` integer NULL,
	`min_amount` integer NULL,
	`thank_you_message` text NULL,
	`expires_at` datetime NULL,
	`max_payments` integer NULL,
	`disabled_at` datetime NULL,
	`paid_count` integer NOT NULL DEFAULT (0),
	`paid_amount` integer NOT NULL DEFAULT (0),
	`last_paid_at` datetime NULL,
	`created_at` datetime NOT NULL,
	`updated_at` datetime NOT NULL,
	`store_id` uuid NOT NULL,
	PRIMARY KEY (`id`),
	CONSTRAINT `payment_links_stores_payment_links` FOREIGN KEY (`store_id`) REFERENCES `stores` (`id`) ON DELETE NO ACTION
);
CREATE UNIQUE INDEX `paymentlink_store_id_code` ON `payment_links` (`store_id`, `code`);
CREATE INDEX `paymentlink_store_id_created_at_id` ON `payment_links` (`store_id`, `created_at`, `id`);
CREATE TABLE `products` (
	`id` uuid NOT NULL,
	`title` text NOT NULL,
	`title_folded` text NOT NULL,
	`slug` text NOT NULL,
	`type` text NOT NULL,
	`status` text NOT NULL DEFAULT ('DRAFT'),
	`summary` text NOT NULL DEFAULT (''),
	`description` text NOT NULL DEFAULT (''),
	`price_amount` integer NOT NULL,
	`compare_at_amount` integer NULL,
	`url` text NOT NULL,
	`cover_url` text NULL,
	`content_ready` bool NOT NULL DEFAULT (false),
	`published_at` datetime NULL,
	`created_at` datetime NOT NULL,
	`updated_at` datetime NOT NULL,
	`store_id` uuid NOT NULL,
	PRIMARY KEY (`id`),
	CONSTRAINT `products_stores_products` FOREIGN KEY (`store_id`) REFERENCES `stores` (`id`) ON DELETE NO ACTION
);
CREATE UNIQUE INDEX `product_store_id_slug` ON `products` (`store_id`, `slug`);
CREATE INDEX `product_store_id_created_at_id` ON `products` (`store_id`, `created_at`, `id`);
CREATE INDEX `product_store_id_status_created_at_id` ON `products` (`store_id`, `status`, `created_at`, `id`);
CREATE INDEX `product_store_id_type_created_at_id` ON `products` (`store_id`, `type`, `created_at`, `id`);
CREATE INDEX `product_store_id_status_type_created_at_id` ON `products` (`store_id`, `status`, `type`, `created_at`, `id`);
CREATE TABLE `rate_counters` (
	`id` uuid NOT NULL,
	`minute` integer NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE TABLE `stores` (
	`id` uuid NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`url` text NOT NULL,
	`description` text NOT NULL DEFAULT (''),
	`currency` text NOT NULL,
	`country` text NOT NULL,
	`support_email` text NOT NULL DEFAULT (''),
	`phone` text NOT NULL DEFAULT (''),
	`whatsapp_phone` text NOT NULL DEFAULT (''),
	`social_links` json NOT NULL,
	`status` text NOT NULL DEFAULT ('open'),
	`payment_links_open` bool NOT NULL DEFAULT (true),
	`unavailable_types` json NOT NULL,
	`platform_fee_percent` real NOT NULL DEFAULT (0),
	`created_at` datetime NOT NULL,
	`updated_at` datetime NOT NULL,
	PRIMARY KEY (`id`)
);
CREATE UNIQUE INDEX `store_slug` ON `stores` (`slug`);
CREATE INDEX `store_created_at_id` ON `stores` (`created_at`, `id`);

-- Added by hand: a search reads the text from the index, in the list's order, without the rows.
CREATE INDEX `product_search` ON `products` (`store_id`, `created_at`, `id`, `title_folded`);
CREATE INDEX `customer_search` ON `customers` (`store_id`, `created_at`, `id`, `search`);

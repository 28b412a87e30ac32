-- +goose Up
-- The transaction of a change now writes a delivery for each webhook that gets the event, so there is no outbox. Servers and
-- workers of an unreleased version that fills the outbox must be stopped; release 2026-09 has no outbox and may run. What waits
-- in the outbox goes to the webhooks that are enabled and subscribed now, as the relay would have done.
INSERT INTO `deliveries` (`id`, `store_id`, `webhook_id`, `event_id`, `event_type`, `due_at`, `attempts`, `created_at`, `epoch`)
SELECT substr(o.`id`, 1, 24) || lower(hex(randomblob(6))), o.`store_id`, w.`id`, o.`id`, o.`type`,
	1000 * CAST(strftime('%s', 'now') AS integer), CAST('[]' AS blob), 1000 * CAST(strftime('%s', 'now') AS integer), w.`epoch`
	FROM `outbox` AS o JOIN `webhooks` AS w ON w.`store_id` = o.`store_id` AND w.`enabled`
	WHERE EXISTS (SELECT 1 FROM json_each(w.`events`) AS s WHERE s.`value` = o.`type`)
		AND NOT EXISTS (SELECT 1 FROM `deliveries` AS d WHERE d.`store_id` = o.`store_id` AND d.`event_id` = o.`id` AND d.`webhook_id` = w.`id`)
		AND NOT EXISTS (SELECT 1 FROM `finished_deliveries` AS f WHERE f.`store_id` = o.`store_id` AND f.`event_id` = o.`id` AND f.`webhook_id` = w.`id`);
DROP TABLE `outbox`;
ALTER TABLE `deliveries` ADD COLUMN `leased_until` datetime NULL;
UPDATE `deliveries` SET `leased_until` = `due_at` WHERE `lease` IS NOT NULL;

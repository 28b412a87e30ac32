-- +goose Up
-- One webhook has no store: it gets the notices. No row keeps which notice was written last. No release had these columns.
CREATE UNIQUE INDEX `webhook_without_store` ON `webhooks` (`store_id`) WHERE store_id = '00000000-0000-0000-0000-000000000000';
ALTER TABLE `webhooks` DROP COLUMN `notice_level`;
ALTER TABLE `webhooks` DROP COLUMN `notice_id`;
ALTER TABLE `api_keys` DROP COLUMN `notice_level`;
-- The statistics of 00002, for the new indexes too.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat)
	SELECT t.name, i.name, '1000000 10000' || COALESCE((
		SELECT group_concat(iif(i.`unique` AND c.seqno = (SELECT max(seqno) FROM pragma_index_info(i.name)), ' 1', ' 10'), '')
			FROM pragma_index_info(i.name) c WHERE c.seqno > 0), '')
		FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) first
		WHERE t.type = 'table' AND first.seqno = 0 AND first.name = 'store_id';

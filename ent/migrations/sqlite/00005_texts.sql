-- +goose Up
-- Searches compare ı and i̇ (U+0131, and i with U+0307) as i. The stored texts are already folded, so these two replacements
-- turn them into what the new release would store.
UPDATE `customers` SET `search` = replace(replace(`search`, char(305), 'i'), 'i' || char(775), 'i')
	WHERE instr(`search`, char(305)) > 0 OR instr(`search`, 'i' || char(775)) > 0;
UPDATE `products` SET `title_folded` = replace(replace(`title_folded`, char(305), 'i'), 'i' || char(775), 'i')
	WHERE instr(`title_folded`, char(305)) > 0 OR instr(`title_folded`, 'i' || char(775)) > 0;

-- Removes the spaces and invisible characters at the ends of e-mails (White_Space and Cf), which release 2026-09 stored. If
-- several customers of a store would then have one e-mail, only the oldest gets it, and none if another has it already.
WITH `marks` AS (
	SELECT char(
		9, 10, 32, 160, 173, 1536, 1537, 1538, 1539, 1540, 1541, 1564, 1757, 1807, 2192, 2193, 2274, 5760, 6158,
		8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8203, 8204, 8205, 8206, 8207, 8232, 8233,
		8234, 8235, 8236, 8237, 8238, 8239, 8287, 8288, 8289, 8290, 8291, 8292, 8294, 8295, 8296, 8297, 8298, 8299,
		8300, 8301, 8302, 8303, 12288, 65279, 65529, 65530, 65531
	) AS `all`
), `trimmed` AS (
	SELECT `store_id`, `id`, trim(`email`, `all`) AS `email`,
		substr(`search`, 1, instr(`search`, char(31))) AS `name`, substr(`search`, instr(`search`, char(31)) + 1) AS `rest`,
		row_number() OVER (PARTITION BY `store_id`, trim(`email`, `all`) ORDER BY `created_at`, `id`) AS `nth`
	FROM `customers`, `marks` WHERE `email` <> trim(`email`, `all`)
)
UPDATE `customers` SET `email` = t.`email`, `search` = t.`name` ||
		trim(substr(t.`rest`, 1, instr(t.`rest`, char(31)) - 1), `marks`.`all`) || substr(t.`rest`, instr(t.`rest`, char(31)))
	FROM `trimmed` AS t, `marks`
	WHERE `customers`.`id` = t.`id` AND t.`nth` = 1 AND NOT EXISTS (
		SELECT 1 FROM `customers` AS o WHERE o.`store_id` = t.`store_id` AND o.`email` = t.`email`
	);

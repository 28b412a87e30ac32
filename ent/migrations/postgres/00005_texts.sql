-- +goose Up
-- +goose NO TRANSACTION
-- Searches compare ı and i̇ (U+0131, and i with U+0307) as i. The stored texts are already folded, so these two replacements
-- turn them into what the new release would store. Each transaction changes a thousand rows, because servers wait for a
-- changed row until its commit. A run that was stopped and begins again changes only the rows that are left.
-- +goose StatementBegin
DO $do$
DECLARE
	batch uuid[];
BEGIN
	FOR batch IN SELECT array_agg("id") FROM (SELECT "id", row_number() OVER () / 1000 AS "n" FROM "customers"
		WHERE "search" LIKE U&'%\0131%' OR "search" LIKE U&'%i\0307%') AS c GROUP BY "n"
	LOOP
		UPDATE "customers" SET "search" = replace(replace("search", U&'\0131', 'i'), U&'i\0307', 'i') WHERE "id" = ANY (batch);
		COMMIT;
	END LOOP;
END $do$;
-- +goose StatementEnd
-- +goose StatementBegin
DO $do$
DECLARE
	batch uuid[];
BEGIN
	FOR batch IN SELECT array_agg("id") FROM (SELECT "id", row_number() OVER () / 1000 AS "n" FROM "products"
		WHERE "title_folded" LIKE U&'%\0131%' OR "title_folded" LIKE U&'%i\0307%') AS p GROUP BY "n"
	LOOP
		UPDATE "products" SET "title_folded" = replace(replace("title_folded", U&'\0131', 'i'), U&'i\0307', 'i') WHERE "id" = ANY (batch);
		COMMIT;
	END LOOP;
END $do$;
-- +goose StatementEnd

-- Removes the spaces and invisible characters at the ends of e-mails (White_Space and Cf), which release 2026-09 stored. If
-- several customers of a store would then have one e-mail, only the oldest gets it, and none if another has it already.
UPDATE "customers" AS c SET "email" = t."email",
		"search" = split_part(c."search", chr(31), 1) || chr(31) || t."folded" || chr(31) || split_part(c."search", chr(31), 3)
	FROM (
		SELECT "store_id", "id", "email", "folded", row_number() OVER (PARTITION BY "store_id", "email" ORDER BY "created_at", "id") AS "nth"
		FROM (
			SELECT "store_id", "id", "created_at", "email" AS "stored",
				btrim("email", U&'\0009\000A\0020\00A0\00AD\0600\0601\0602\0603\0604\0605\061C\06DD\070F\0890\0891\08E2\1680\180E\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\200B\200C\200D\200E\200F\2028\2029\202A\202B\202C\202D\202E\202F\205F\2060\2061\2062\2063\2064\2066\2067\2068\2069\206A\206B\206C\206D\206E\206F\3000\FEFF\FFF9\FFFA\FFFB') AS "email",
				btrim(split_part("search", chr(31), 2), U&'\0009\000A\0020\00A0\00AD\0600\0601\0602\0603\0604\0605\061C\06DD\070F\0890\0891\08E2\1680\180E\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\200B\200C\200D\200E\200F\2028\2029\202A\202B\202C\202D\202E\202F\205F\2060\2061\2062\2063\2064\2066\2067\2068\2069\206A\206B\206C\206D\206E\206F\3000\FEFF\FFF9\FFFA\FFFB') AS "folded"
			FROM "customers"
		) AS trimmed
		WHERE "stored" <> "email"
	) AS t
	WHERE c."store_id" = t."store_id" AND c."id" = t."id" AND t."nth" = 1 AND NOT EXISTS (
		SELECT 1 FROM "customers" AS o WHERE o."store_id" = t."store_id" AND o."email" = t."email"
	);

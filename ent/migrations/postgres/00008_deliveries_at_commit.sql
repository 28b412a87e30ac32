-- +goose Up
-- The transaction of a change now writes a delivery for each webhook that gets the event. Servers and workers of an unreleased
-- version that fills the outbox must be stopped; release 2026-09 has no outbox and may run. What waits in the outbox goes to
-- the webhooks that are enabled and subscribed now, as the relay would have done. The id of a delivery is derived from the ids
-- of its event and webhook, as always.
INSERT INTO "deliveries" ("id", "store_id", "webhook_id", "event_id", "event_type", "due_at", "attempts", "created_at", "epoch")
SELECT d."id", d."store_id", d."webhook_id", d."event_id", d."type", now(), '[]', now(), d."epoch"
	FROM (
		SELECT encode(substring(uuid_send(o."id") FOR 10) || substring(sha256(uuid_send(o."id") || uuid_send(w."id")) FOR 6), 'hex')::uuid AS "id",
			o."store_id", w."id" AS "webhook_id", o."id" AS "event_id", o."type", w."epoch"
		FROM "outbox" AS o JOIN "webhooks" AS w ON w."store_id" = o."store_id" AND w."enabled" AND w."events" ? o."type"
	) AS d
	WHERE NOT EXISTS (SELECT 1 FROM "finished_deliveries" AS f WHERE f."id" = d."id" AND f."store_id" = d."store_id")
	ON CONFLICT DO NOTHING;
DELETE FROM "outbox";
-- Only a database that Citus distributes still has an outbox: the deliveries of a change that lies on another node than they.
ALTER TABLE "outbox" DROP COLUMN "type";
ALTER TABLE "outbox" ADD COLUMN "webhook_id" uuid NOT NULL;
ALTER TABLE "outbox" ADD COLUMN "event_id" uuid NOT NULL;
ALTER TABLE "outbox" ADD COLUMN "event_type" character varying NOT NULL;
ALTER TABLE "outbox" ADD COLUMN "epoch" bigint NOT NULL;
-- A lease changes no column of an index. Half of each page is left free for the rows that leases change, which then need no new
-- entries in the indexes.
ALTER TABLE "deliveries" ADD COLUMN "leased_until" timestamptz NULL;
UPDATE "deliveries" SET "leased_until" = "due_at" WHERE "lease" IS NOT NULL;
ALTER TABLE "deliveries" SET (fillfactor = 50);

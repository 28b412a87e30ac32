-- name: take
-- Skips locked rows, because other processes are folding them.
DELETE FROM row_deltas WHERE (store_id, id) IN (
  SELECT store_id, id FROM row_deltas ORDER BY store_id, id LIMIT $1 FOR UPDATE SKIP LOCKED)
 RETURNING store_id, kind, day, status, type, change

-- name: take of store
DELETE FROM row_deltas WHERE store_id = $2 AND (store_id, id) IN (
  SELECT store_id, id FROM row_deltas WHERE store_id = $2 ORDER BY store_id, id LIMIT $1 FOR UPDATE SKIP LOCKED)
 RETURNING store_id, kind, day, status, type, change

-- name: add
-- Adds the deltas in "taken" to the counts of their days and to the counts of 32 days.
INSERT INTO row_counts AS c (store_id, kind, days, first_day, status, type, total)
 SELECT store_id, kind, days, first_day, status, type, sum(change) FROM (
   SELECT store_id, kind, 1 AS days, day AS first_day, status, type, change FROM taken
   UNION ALL SELECT store_id, kind, 32, day & -32, status, type, change FROM taken) t
 GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(change) <> 0 ORDER BY 1, 2, 3, 4, 5, 6
 ON CONFLICT (store_id, kind, days, first_day, status, type) DO UPDATE SET total = c.total + excluded.total

-- name: stores
-- The stores that have row deltas.
SELECT DISTINCT store_id FROM row_deltas LIMIT 1000

-- name: days
-- Stores the rows of the query "found" as counts of single days. $1 is the store, $2 the kind.
INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total)
 SELECT $1, $2, 1, day, status, type, total FROM found

-- name: wide
INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total)
 SELECT store_id, kind, 32, first_day & -32, status, type, sum(total) FROM row_counts
 WHERE store_id = $1 AND kind = $2 AND days = 1 GROUP BY store_id, kind, first_day & -32, status, type

-- name: total
SELECT COALESCE(CAST(sum(total) AS bigint), 0) FROM row_counts WHERE store_id = $1 AND kind = $2 AND days = 32

-- name: wrong
-- Returns how many counts are wrong: with the row deltas added, they differ from the query "found". A missing count is zero.
SELECT count(*) FROM (SELECT 1 FROM (
  SELECT 1 AS days, day, status, type, -total AS total FROM found
  UNION ALL SELECT 32, day & -32, status, type, -total FROM found
  UNION ALL SELECT 1, day, status, type, change FROM row_deltas WHERE store_id = $1 AND kind = $2
  UNION ALL SELECT 32, day & -32, status, type, change FROM row_deltas WHERE store_id = $1 AND kind = $2
  UNION ALL SELECT days, first_day, status, type, total FROM row_counts WHERE store_id = $1 AND kind = $2
 ) b GROUP BY days, day, status, type HAVING sum(total) <> 0) w

-- {kind}, {day} and {facets} stand for a table, the day of its created_at, and its status and type. {store} is a condition.

-- name: fold
WITH taken AS (
  DELETE FROM row_deltas WHERE {store} AND (store_id, id) IN (
   SELECT store_id, id FROM row_deltas WHERE {store} ORDER BY store_id, id LIMIT $1 FOR UPDATE SKIP LOCKED)
  RETURNING store_id, kind, day, status, type, change),
 added AS (
  INSERT INTO row_counts AS c (store_id, kind, days, first_day, status, type, total)
  SELECT store_id, kind, days, first_day, status, type, sum(change) FROM (
    SELECT store_id, kind, 1 AS days, day AS first_day, status, type, change FROM taken
    UNION ALL SELECT store_id, kind, 32, day & -32, status, type, change FROM taken) t
  GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(change) <> 0 ORDER BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (store_id, kind, days, first_day, status, type) DO UPDATE SET total = c.total + excluded.total)
SELECT count(*) FROM taken

-- name: stores
-- Stores that have differences.
SELECT DISTINCT store_id FROM row_deltas LIMIT 1000

-- name: days
INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total)
SELECT store_id, '{kind}', 1, day, status, type, count(*) FROM (
  SELECT store_id, {day} AS day, {facets} FROM {kind} WHERE store_id = $1) r
GROUP BY store_id, day, status, type

-- name: wide
INSERT INTO row_counts (store_id, kind, days, first_day, status, type, total)
SELECT store_id, kind, 32, first_day & -32, status, type, sum(total) FROM row_counts
WHERE store_id = $1 AND kind = '{kind}' AND days = 1 GROUP BY store_id, kind, first_day & -32, status, type

-- name: total
SELECT COALESCE(CAST(sum(total) AS bigint), 0) FROM row_counts WHERE store_id = $1 AND kind = '{kind}' AND days = 32

-- name: wrong
WITH found AS MATERIALIZED (
  SELECT day, status, type, count(*) AS total FROM (SELECT {day} AS day, {facets} FROM {kind} WHERE store_id = $1) r
  GROUP BY day, status, type),
 deltas AS (SELECT day, status, type, change FROM row_deltas WHERE store_id = $1 AND kind = '{kind}')
SELECT count(*) FROM (SELECT 1 FROM (
  SELECT 1 AS days, day, status, type, -total AS total FROM found
  UNION ALL SELECT 32, day & -32, status, type, -total FROM found
  UNION ALL SELECT 1, day, status, type, change FROM deltas
  UNION ALL SELECT 32, day & -32, status, type, change FROM deltas
  UNION ALL SELECT days, first_day, status, type, total FROM row_counts WHERE store_id = $1 AND kind = '{kind}'
 ) b GROUP BY days, day, status, type HAVING sum(total) <> 0) w

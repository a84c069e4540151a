/**
 * $1 limit. now() and not clock_timestamp(): a bound that is constant lets PostgreSQL use the indexes on due times.
 * Its cost grows with the due rows, not with all rows.
 */
export const dueStatement = `
  WITH waiting (integration_id, due_at) AS (
    SELECT integration_id, min(due_at) FROM approval_record
    WHERE state <> 'removed' AND due_at <= now() GROUP BY integration_id
    UNION ALL
    SELECT id, zones_due_at FROM dns_integration WHERE deleted_at IS NULL AND zones_due_at <= now()),
  due AS (
    SELECT integration.id, integration.account_id, integration.lease_token, min(waiting.due_at) AS due_at
    FROM waiting JOIN dns_integration AS integration ON integration.id = waiting.integration_id
    WHERE integration.handle IS NOT NULL
      AND (integration.leased_until IS NULL OR integration.leased_until <= now())
    GROUP BY integration.id)
  SELECT id, account_id AS "accountId", lease_token AS "leaseToken",
    extract(epoch FROM clock_timestamp() - due_at)::int AS "overdueS"
  FROM due ORDER BY row_number() OVER (PARTITION BY account_id ORDER BY due_at, id), due_at LIMIT $1`;

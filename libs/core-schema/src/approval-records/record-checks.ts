/**
 * Requests a check of every record that a plan uses: a second after the last check if it waits for the next one, half
 * a minute after a failure of its provider, and at once if it is idle.
 *
 * @param planId its placeholder, `$1`
 */
export const requestRecordChecks = (planId: string) => `
  UPDATE approval_record SET ${checkRequested}
  WHERE id IN (
    SELECT record.id FROM approval_record AS record JOIN approval_record_use ON record_id = record.id
    WHERE plan_id = ${planId} AND record.state <> 'removed' ORDER BY dns_name FOR UPDATE OF record)`;

/** Columns of a requested record. */
export const checkRequested = `
  asks = approval_record.asks + 1,
  due_at = CASE
    WHEN approval_record.due_at IS NULL THEN clock_timestamp()
    ELSE least(approval_record.due_at, clock_timestamp()
      + CASE WHEN approval_record.failures = 0 THEN interval '1 second' ELSE interval '30 seconds' END)
  END`;

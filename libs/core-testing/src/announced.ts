import type { RunningFront } from './running-front';

type Over = Pick<RunningFront, 'database'>;
interface OfAccount {
  readonly accountId: string;
}

/** Queued messages to the webhooks of an account, oldest first. */
export async function deliveriesOf({ database }: Over, { accountId }: OfAccount) {
  return await database.query<{
    id: string;
    endpoint_id: string;
    version: number;
    event: string;
    state: string;
    body: string;
  }>(
    `SELECT id, endpoint_id, version, event, state, body FROM webhook_delivery WHERE account_id = $1
     ORDER BY version, created_at, endpoint_id`,
    [accountId],
  );
}

/** Plans of an account with pending webhook events. */
export async function unannounced({ database }: Over, { accountId }: OfAccount): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM plan WHERE account_id = $1 AND current_version > announced_version`,
    [accountId],
  );
  return row?.count ?? 0;
}

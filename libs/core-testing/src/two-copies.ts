import { eventually } from '@certwright/testing';
import type { RunningFront } from './running-front';

const limits = { FAILED_AUTHENTICATION_PER_MIN: '1', TRUSTED_PROXIES: '127.0.0.1' };

/** Two copies of an API over one PostgreSQL and one Redis, which admit one wrong key per minute and address. */
export async function startTwoCopies<Api extends Pick<RunningFront, 'database' | 'redis'>>(
  name: string,
  start: (settings: Readonly<Record<string, string>>) => Promise<Api>,
): Promise<readonly [Api, Api]> {
  const one = await start(limits);
  const shared = { DATABASE_URL: one.database.urlOf(name), ...one.redis.environment };
  return [one, await start({ ...limits, ...shared })];
}

/** That one copy refuses the address of a wrong key after the other copy has seen it. */
export async function countWrongKeysTogether(
  copies: readonly [Pick<RunningFront, 'call'>, Pick<RunningFront, 'call'>],
  accountId: string,
  path: string,
): Promise<void> {
  let address = 0;
  const attempt = async (copy: Pick<RunningFront, 'call'>) =>
    await copy.call('GET', path, {
      headers: {
        authorization: `Bearer ${accountId}_${'A'.repeat(32)}`,
        'x-forwarded-for': `192.0.2.${address}`,
      },
    });
  // While Redis is too slow on a busy machine, each copy counts by itself; then another address is tried.
  await eventually(async () => {
    address += 1;
    const statuses = [(await attempt(copies[0])).status, (await attempt(copies[1])).status];
    expect(statuses).toEqual([401, 429]);
  });
}

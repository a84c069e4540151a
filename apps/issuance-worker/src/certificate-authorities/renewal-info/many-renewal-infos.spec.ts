import { CoreDatabaseFixture } from '@certwright/core-testing';
import type { CertificateAuthorityEntity } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import { AcmeFault, type AcmeServer } from '../../acme';
import { caAccount } from '../../testing/ca-accounts';
import { pollRenewalInfos } from './poll-renewal-infos';
import { type DueRenewalInfo, RenewalInfos } from './renewal-infos';

it('reads only what is due', async () => {
  const core = await CoreDatabaseFixture.open();
  await caAccount(core, 'public-ca');
  await core.database.transaction(async (tx) => {
    await tx.query(`SET LOCAL session_replication_role = replica`);
    await tx.query(`INSERT INTO renewal_info (certificate_id, authority, ari_id, due_at)
      SELECT n, 'public-ca', 'aki.serial', now() + interval '1 hour' FROM generate_series(1, 1000) AS n`);
    await tx.query(`SET LOCAL enable_seqscan = off`);
    const infos = new RenewalInfos({
      query: async (...args: [string, unknown[]]) => await tx.query(...args),
    } as unknown as DataSource);
    expect(await infos.take(100, 60_000)).toEqual([]);
    const [{ read }] = await tx.query<[{ read: number }]>(
      `SELECT (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int AS read FROM pg_stat_xact_user_tables WHERE relname = 'renewal_info'`,
    );
    expect(read).toBeLessThan(100);
  });
  await core.close();
}, 60_000);

it('sends no further requests to a CA that sent a Retry-After', async () => {
  let requests = 0;
  const postponed: Date[] = [];
  const retryAt = new Date(Date.now() + 3_600_000);
  const now = new Date();
  const due = Array.from({ length: 100 }, (_, n): DueRenewalInfo => ({
    certificateId: String(n + 1),
    planId: '1',
    authority: 'public-ca',
    ariId: 'aki.serial',
    notBefore: new Date(now.getTime() - 86_400_000),
    replacedEarly: false,
    notAfter: new Date(now.getTime() + 80 * 86_400_000),
    failures: 0,
    windowStart: null,
    windowEnd: null,
    now,
  }));
  const rounds = [due, due, []];
  const renewalInfo = async () => {
    requests += 1;
    return await Promise.reject(new AcmeFault('rate_limited', 'busy', { status: 429, retryAt }));
  };
  const round = pollRenewalInfos({
    infos: {
      take: async () => await Promise.resolve(rounds.shift() ?? []),
      received: async () => await Promise.resolve(),
      failed: async (_, at) => await Promise.resolve(void postponed.push(at)),
      postponed: async (_, at) => await Promise.resolve(void postponed.push(at)),
      follow: async () => await Promise.resolve(),
    },
    authorities: {
      byName: async () =>
        await Promise.resolve(
          new Map([
            [
              'public-ca',
              { name: 'public-ca', downSince: null, downUntil: null } as CertificateAuthorityEntity,
            ],
          ]),
        ),
    },
    servers: { of: () => ({ renewalInfo }) as unknown as AcmeServer },
    random: () => 0.5,
    events: { windowMoved: () => undefined, windowTooEarly: () => undefined, failed: () => undefined },
  });
  for (let n = 0; n < 3; n += 1) await round();
  expect(postponed).toHaveLength(200);
  expect(requests).toBeLessThanOrEqual(4);
});

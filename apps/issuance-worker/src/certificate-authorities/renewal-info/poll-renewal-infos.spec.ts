import { CertificateAuthorities } from '../certificate-authorities';
import { type DueRenewalInfo, RenewalInfos } from './renewal-infos';
import type { CertificateAuthorityEntity } from '@certwright/core-schema';
import type { AcmeServer } from '../../acme';
import { altered, FakeAcmeServer } from '../../acme/testing/fake-acme-server';
import { installedPebbles } from '../../acme/testing/pebble';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { type OpenedIssuance, opensslCsr } from '../../testing/opened-issuance';
import { pollRenewalInfos } from './poll-renewal-infos';
import { renewalsOver, renewOnce } from '../../renewals/testing/stored-renewals';

const dnsNames = ['renewed.example.com'];
const csr = opensslCsr(dnsNames);

let acme: AcmeIssuing;
let fakeCa: FakeAcmeServer;
const failures: unknown[] = [];
let moved = 0;
let tooEarly = 0;
beforeAll(async () => {
  acme = await AcmeIssuing.open();
  fakeCa = await FakeAcmeServer.start();
  if (installedPebbles.includes('newer')) await acme.pebble('pebble', {}, {}, 'newer');
  await acme.authoritiesAre('pebble');
}, 30_000);
afterAll(async () => {
  await fakeCa.stop();
  await acme.close();
});
beforeEach(() => {
  fakeCa.clearOverrides();
  failures.length = 0;
  moved = 0;
  tooEarly = 0;
});

const itWithNewer = installedPebbles.includes('newer') ? it : it.skip;

function round(random = 0.5) {
  const { asWorker } = acme;
  return pollRenewalInfos({
    infos: new RenewalInfos(asWorker),
    authorities: new CertificateAuthorities(asWorker),
    servers: acme.servers,
    random: () => random,
    events: {
      windowMoved: () => (moved += 1),
      windowTooEarly: () => (tooEarly += 1),
      failed: (_, error) => failures.push(error),
    },
  });
}

interface Stored {
  readonly start: Date;
  readonly end: Date;
  readonly renew_at: Date;
  readonly due_s: number;
  readonly failures: number;
  readonly explanation_url: string | null;
}

async function stored({ planId }: OpenedIssuance): Promise<Stored> {
  const [row] = await acme.database.query<[Stored]>(
    `SELECT window_start AS start, window_end AS "end", plan.renew_at, failures, explanation_url,
       extract(epoch FROM due_at - now())::float8 AS due_s
     FROM renewal_info JOIN certificate ON certificate.id = certificate_id JOIN plan ON plan.id = plan_id
     WHERE plan_id = $1 AND is_current`,
    [planId],
  );
  return row;
}

const dueNow = async () => await acme.database.query(`UPDATE renewal_info SET due_at = now()`);

async function issued(): Promise<OpenedIssuance> {
  const opened = await acme.order(dnsNames, csr);
  expect((await acme.advance(opened)).state).toBe('issued');
  return opened;
}

/** Moves the plan's certificates to a CA whose responses the spec sets. */
async function askTheLiar({ planId }: OpenedIssuance): Promise<void> {
  const { directoryUrl, tlsRoot } = fakeCa;
  await acme.database.query(
    `INSERT INTO certificate_authority (name, directory_url, tls_roots) VALUES ('liar', $1, $2) ON CONFLICT DO NOTHING`,
    [directoryUrl, tlsRoot],
  );
  await acme.database.query(
    `UPDATE renewal_info SET authority = 'liar', due_at = now() FROM certificate
     WHERE certificate.id = certificate_id AND plan_id = $1`,
    [planId],
  );
}

const window = (start: string, end: string, headers: Record<string, string> = {}) =>
  altered((correct) => ({
    headers: { ...correct.headers, ...headers },
    body: JSON.stringify({ suggestedWindow: { start, end }, explanationURL: 'https://ca.example/why' }),
  }));

async function pathOf({ planId }: OpenedIssuance): Promise<string> {
  const [row] = await acme.database.query<[{ ari_id: string }]>(
    `SELECT ari_id FROM renewal_info JOIN certificate ON certificate.id = certificate_id WHERE plan_id = $1`,
    [planId],
  );
  return `/renewal/${row.ari_id}`;
}

itWithNewer('a certificate is renewed at a time in the CA’s window, chosen once', async () => {
  const opened = await issued();
  await round(0.25)();
  const { start, end, renew_at: renewAt, due_s: dueS } = await stored(opened);
  expect(renewAt.getTime()).toBe(Math.floor(start.getTime() + (end.getTime() - start.getTime()) * 0.25));
  expect(dueS).toBeGreaterThan(55);
  await dueNow();
  await round(0.75)();
  expect((await stored(opened)).renew_at).toEqual(renewAt);
  expect({ moved, failures }).toEqual({ moved: 0, failures: [] });
});

itWithNewer(
  'a window that moves into the past renews at once, with an order that has `replaces`',
  async () => {
    const opened = await issued();
    await round()();
    await askTheLiar(opened);
    fakeCa.override(await pathOf(opened), window('2020-01-01T00:00:00Z', '2020-01-02T00:00:00Z'));
    await round()();
    expect(moved).toBe(1);
    const row = await stored(opened);
    expect(row.explanation_url).toBe('https://ca.example/why');
    expect(Math.abs(row.renew_at.getTime() - Date.now())).toBeLessThan(600_000);
    const ariId = (await pathOf(opened)).split('/')[2];
    await renewOnce(renewalsOver(acme.asWorker));
    const [replacement] = await acme.database.query<[{ id: string }]>(
      `SELECT id FROM issuance WHERE plan_id = $1 AND replaces_certificate_id IS NOT NULL`,
      [opened.planId],
    );
    const next = { planId: opened.planId, issuanceId: replacement.id };
    expect(await acme.advance(next)).toMatchObject({ state: 'issued', last_error: null });
    expect(await acme.orders(next)).toMatchObject([{ state: 'issued', replaces: ariId }]);
    expect(await acme.certificates(opened)).toHaveLength(2);
  },
);

itWithNewer(
  'a CA whose windows are always in the past has a certificate replaced once at once, and then after a third of its lifetime',
  async () => {
    const opened = await issued();
    const past = (hoursAgo: number) => {
      const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
      return window(at(hoursAgo + 1), at(hoursAgo));
    };
    fakeCa.override(await pathOf(opened), past(2));
    await askTheLiar(opened);
    await round()();
    expect(Math.abs((await stored(opened)).renew_at.getTime() - Date.now())).toBeLessThan(60_000);
    await acme.database.query(`UPDATE issuance SET replaces_certificate_id = $2 WHERE plan_id = $1`, [
      opened.planId,
      (await acme.certificates(await issued()))[0]?.id,
    ]);
    await acme.database.query(`UPDATE renewal_info SET window_start = NULL, window_end = NULL`);
    const [{ third }] = await acme.database.query<[{ third: Date }]>(
      `SELECT not_before + (not_after - not_before) / 3 AS third FROM certificate WHERE plan_id = $1`,
      [opened.planId],
    );
    for (const hoursAgo of [2, 1, 3]) {
      fakeCa.override(await pathOf(opened), past(hoursAgo));
      await askTheLiar(opened);
      await round()();
      const { renew_at: renewAt } = await stored(opened);
      expect(Math.abs(renewAt.getTime() - third.getTime())).toBeLessThan(1_000);
    }
    expect({ moved, tooEarly }).toEqual({ moved: 2, tooEarly: 1 });
  },
);

itWithNewer('a certificate that the CA has already replaced is replaced without `replaces`', async () => {
  const opened = await issued();
  const [replaced] = await acme.certificates(opened);
  for (const [revision, expected] of [expect.any(String), null].entries()) {
    const [row] = await acme.database.query<[{ id: string }]>(
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, replaces_certificate_id, state, approvals, due_at)
       SELECT plan_id, account_id, terms_id, revision, $2, 'open',
         '[{"dnsName": "renewed.example.com", "status": "pending", "method": null, "problem": null, "checkedAt": null}]', now()
       FROM issuance WHERE id = $1 RETURNING id`,
      [opened.issuanceId, replaced?.id],
    );
    const next = { planId: opened.planId, issuanceId: row.id };
    expect((await acme.advance(next)).state).toBe('issued');
    expect(await acme.orders(next)).toMatchObject([{ state: 'issued', replaces: expected }]);
    // Lets another one replace the same certificate, as after a database crash that lost the newest rows.
    await acme.database.query(
      `UPDATE issuance SET replaces_certificate_id = NULL, revision = $2 WHERE id = $1`,
      [row.id, revision + 2],
    );
  }
});

itWithNewer.each([
  ['1', 60],
  ['86400000', 86_400],
])('Retry-After of %s s counts as %i s', async (said, expected) => {
  const opened = await issued();
  await askTheLiar(opened);
  fakeCa.override(
    await pathOf(opened),
    window('2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z', { 'retry-after': said }),
  );
  await round()();
  expect(Math.abs((await stored(opened)).due_s - expected)).toBeLessThan(5);
});

itWithNewer('a CA that does not respond is polled at growing intervals, and the time is kept', async () => {
  const opened = await issued();
  const { renew_at: renewAt } = await stored(opened);
  await askTheLiar(opened);
  fakeCa.override(await pathOf(opened), altered({ status: 500, body: '{}' }));
  await round()();
  const first = await stored(opened);
  expect(first).toMatchObject({ failures: 1, renew_at: renewAt });
  expect(Math.abs(first.due_s - 60)).toBeLessThan(5);
  await dueNow();
  await round()();
  const second = await stored(opened);
  expect(Math.abs(second.due_s - 240)).toBeLessThan(5);
  expect(failures.length).toBeGreaterThan(0);
});

itWithNewer('a CA that is down gets no request, and no failure is counted', async () => {
  const opened = await issued();
  await askTheLiar(opened);
  fakeCa.requests.length = 0;
  await acme.database.query(
    `UPDATE certificate_authority SET down_since = now(), down_until = now(), down_for = 'everything'
     WHERE name = 'liar'`,
  );
  await round()();
  const row = await stored(opened);
  expect(row).toMatchObject({ failures: 0 });
  expect(row.due_s).toBeGreaterThan(60);
  expect(fakeCa.requests).toEqual([]);
  await acme.database.query(
    `UPDATE certificate_authority SET down_since = NULL, down_until = NULL, down_for = NULL`,
  );
});

describe('a CA that does not respond', () => {
  afterEach(() => void jest.useRealTimers());

  /** Renewal information of two CAs, of which `slow` never responds. */
  const ports = (rows: readonly DueRenewalInfo[]) => {
    const waiting = [...rows];
    const received: string[] = [];
    const taken: (readonly string[])[] = [];
    const window = { start: new Date('2030-01-01T00:00:00Z'), end: new Date('2030-01-02T00:00:00Z') };
    const renewalInfo = { window, explanationUrl: null, retryAt: new Date() };
    const polling = pollRenewalInfos({
      infos: {
        take: async (limit, _forMs, except = []) => {
          taken.push(except);
          const all = waiting.filter(({ authority }) => !except.includes(authority)).slice(0, limit);
          for (const each of all) waiting.splice(waiting.indexOf(each), 1);
          return await Promise.resolve(all);
        },
        received: async (id) => await Promise.resolve(void received.push(id)),
        failed: async () => await Promise.resolve(),
        postponed: async () => await Promise.resolve(),
        follow: async () => await Promise.resolve(),
      },
      authorities: {
        byName: async () =>
          await Promise.resolve(
            new Map(
              ['slow', 'quick'].map((name) => [
                name,
                { name, downSince: null, downUntil: null } as CertificateAuthorityEntity,
              ]),
            ),
          ),
      },
      servers: {
        of: ({ name }) =>
          ({
            renewalInfo: async () =>
              await (name === 'slow' ? new Promise(() => undefined) : Promise.resolve(renewalInfo)),
          }) as unknown as AcmeServer,
      },
      random: () => 0,
      events: { windowMoved: () => undefined, windowTooEarly: () => undefined, failed: () => undefined },
    });
    return { polling, received, taken, waiting };
  };
  const info = (authority: string, certificateId: string): DueRenewalInfo => ({
    ...{ certificateId, planId: '1', authority, ariId: 'a.b', failures: 0 },
    ...{ windowStart: null, windowEnd: null, replacedEarly: false, now: new Date() },
    ...{ notBefore: new Date('2029-12-01T00:00:00Z'), notAfter: new Date('2030-03-01T00:00:00Z') },
  });

  it('delays no other CA: later rounds poll only that one', async () => {
    const slow = ['1', '2', '3', '4', '5'].map((id) => info('slow', id));
    const { polling, received, taken, waiting } = ports([...slow, info('quick', '6')]);
    jest.useFakeTimers();
    const first = polling();
    await jest.advanceTimersByTimeAsync(10_000);
    await first;
    expect(received).toEqual(['6']);
    waiting.push(info('slow', '7'), info('quick', '8'));
    const second = polling();
    await jest.advanceTimersByTimeAsync(10_000);
    await second;
    expect(received).toEqual(['6', '8']);
    expect(taken).toEqual([[], ['slow']]);
  });
});

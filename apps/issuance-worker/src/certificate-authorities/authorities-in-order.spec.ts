import { freePort } from '@certwright/testing';
import { altered, FakeAcmeServer, type Override, withMembers } from '../acme/testing/fake-acme-server';
import { installedPebbles } from '../acme/testing/pebble';
import { AcmeIssuing, type StoredAuthority } from '../testing/acme-issuing';
import { healthPace } from './health/pace';
import { type OpenedIssuance, opensslCsr } from '../testing/opened-issuance';

/** When a CA counts as down: never, unless a spec sets it. */
const failing: { faults: number; lastingMs: number }[] = [];

let acme: AcmeIssuing;
let fakeCa: FakeAcmeServer;
let count = 0;
const stopping: (() => Promise<void>)[] = [];
beforeAll(async () => {
  acme = await AcmeIssuing.open({ pace: { ...healthPace, failing } });
  fakeCa = await FakeAcmeServer.start();
  stopping.push(async () => await fakeCa.stop());
  await acme.pebble('second');
}, 30_000);
afterAll(async () => {
  for (const stop of stopping) await stop();
  await acme.close();
});
afterEach(() => fakeCa.clearOverrides());

const itWithPebble = installedPebbles.length > 0 ? it : it.skip;

/** A CA of the product, before `second`, whose responses the spec sets. */
async function first(also: Partial<StoredAuthority> = {}): Promise<string> {
  const name = `first-${(count += 1)}`;
  const { directoryUrl, tlsRoot: tlsRoots } = fakeCa;
  await acme.authority({ name, directoryUrl, tlsRoots, trustedRoots: [], ...also });
  await acme.authoritiesAre(name, 'second');
  return name;
}

async function order(...dnsNames: readonly string[]): Promise<OpenedIssuance> {
  return await acme.order(dnsNames, opensslCsr(dnsNames));
}

async function downOf(name: string): Promise<{ down_s: number | null; problem: string | null }> {
  const [row] = await acme.database.query<[{ down_s: number | null; problem: string | null }]>(
    `SELECT extract(epoch FROM down_until - now())::int AS down_s, problem FROM certificate_authority WHERE name = $1`,
    [name],
  );
  return row;
}

const says = (
  status: number,
  type: string,
  headers: Record<string, string> = {},
  detail = 'said',
): Override =>
  altered((correct) => ({
    status,
    headers: { ...correct.headers, ...headers, 'content-type': 'application/problem+json' },
    body: JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail }),
  }));

describe('a product with two CAs, of which the first', () => {
  beforeAll(() => void failing.push({ faults: 1, lastingMs: 0 }));
  afterAll(() => void failing.pop());

  itWithPebble(
    'does not respond: the second issues at once, and the first gets no further requests',
    async () => {
      const name = await first({ directoryUrl: `https://localhost:${await freePort()}/dir` });
      const opened = await order('down.example.com');
      expect(await acme.advance(opened)).toMatchObject({ state: 'issued', failures: 0 });
      expect(await acme.orders(opened)).toMatchObject([{ authority: 'second', state: 'issued' }]);
      expect((await downOf(name)).down_s).toBeGreaterThan(15);
    },
  );

  itWithPebble.each<[string, Override, number | null]>([
    ['has an internal error', says(500, 'serverInternal'), 30],
    ['is overloaded', says(503, 'serverInternal', { 'retry-after': '300' }), 300],
    ['has reached a limit', says(429, 'rateLimited', { 'retry-after': '3600' }), null],
    ['is forbidden by CAA', says(403, 'caa'), null],
    ['rejects a name', says(400, 'rejectedIdentifier'), null],
  ])('%s: the second issues in the same run', async (_, override, down) => {
    const name = await first();
    fakeCa.override('/newOrder', override);
    const opened = await order('refused.example.com');
    expect(await acme.advance(opened)).toMatchObject({ state: 'issued', failures: 0 });
    expect(await acme.orders(opened)).toMatchObject([
      { authority: name, state: 'failed', finalized_at: null },
      { authority: 'second', state: 'issued' },
    ]);
    const { down_s: downS } = await downOf(name);
    if (down === null) expect(downS).toBeNull();
    else expect(Math.abs((downS ?? 0) - down)).toBeLessThan(10);
  });
});

describe('a product with two CAs, of which the first limits an open order', () => {
  const openAt = async (seconds: number) => {
    const name = await first();
    const number = fakeCa.orders.orders.length;
    fakeCa
      .override('/newOrder', withMembers({ status: 'pending' }))
      .override(`/order/${number}`, withMembers({ status: 'pending' }))
      .override(`/authorization/${number}`, says(429, 'rateLimited', { 'retry-after': String(seconds) }));
    return { name, opened: await order(`limited-${count}.example.com`) };
  };

  itWithPebble('for long has it issued by the second', async () => {
    const { name, opened } = await openAt(7_200);
    expect(await acme.advance(opened)).toMatchObject({ state: 'issued', failures: 0 });
    expect(await acme.orders(opened)).toMatchObject([
      { authority: name, state: 'failed', finalized_at: null },
      { authority: 'second', state: 'issued' },
    ]);
  });

  itWithPebble('for a moment continues with it', async () => {
    const { name, opened } = await openAt(60);
    expect(await acme.advance(opened)).toMatchObject({
      state: 'open',
      failures: 0,
      last_error: { code: 'rate_limited' },
    });
    expect(await acme.orders(opened)).toMatchObject([{ authority: name, state: 'open' }]);
  });
});

describe('a product with two CAs, of which the first is down', () => {
  beforeAll(() => void failing.push({ faults: 1, lastingMs: 0 }));
  afterAll(() => void failing.pop());
  const dueForProbe = async (name: string) =>
    await acme.database.query(`UPDATE certificate_authority SET down_until = now() WHERE name = $1`, [name]);
  const issuedElsewhere = async (dnsName: string) => {
    const opened = await order(dnsName);
    expect(await acme.advance(opened)).toMatchObject({ state: 'issued', failures: 0 });
    return opened;
  };

  itWithPebble('tries it once per interval, and first again once it is up', async () => {
    const name = await first();
    fakeCa.override('/newOrder', says(500, 'serverInternal'));
    await issuedElsewhere('one.example.com');
    const sent = fakeCa.requestCount('/newOrder');
    await issuedElsewhere('two.example.com');
    expect(fakeCa.requestCount('/newOrder')).toBe(sent);
    await dueForProbe(name);
    await issuedElsewhere('three.example.com');
    await issuedElsewhere('four.example.com');
    expect(fakeCa.requestCount('/newOrder')).toBe(sent + 1);
    fakeCa.clearOverrides();
    await dueForProbe(name);
    const opened = await order('five.example.com');
    await acme.worker().run(opened.issuanceId);
    expect(await acme.orders(opened)).toMatchObject([{ authority: name }]);
    expect(await downOf(name)).toEqual({ down_s: null, problem: null });
  });
});

describe('a product with two CAs, neither of which issues now', () => {
  const limited = says(429, 'rateLimited', { 'retry-after': '7200' });
  const two = async () => {
    const names = [await first(), await first()] as const;
    await acme.authoritiesAre(...names);
    return names;
  };

  it('retries after the back-off when one refuses for a reason that may not last', async () => {
    await two();
    let sent = 0;
    const refused = says(403, 'unauthorized');
    fakeCa.override('/newOrder', (...asked) => ((sent += 1) === 1 ? refused : limited)(...asked));
    const state = await acme.advance(await order('one.example.com'));
    expect(sent).toBe(2);
    expect(state).toMatchObject({ state: 'open', failures: 1 });
    expect(state.waits_s).toBeLessThanOrEqual(60);
  });

  it('retries when the limit of one resets, also while the other one is down', async () => {
    const [down] = await two();
    await acme.database.query(
      `UPDATE certificate_authority SET down_since = now(), down_until = now() + interval '30 s',
         down_for = 'everything', problem = 'silent' WHERE name = $1`,
      [down],
    );
    fakeCa.override('/newOrder', limited);
    const opened = await order('two.example.com');
    const state = await acme.advance(opened);
    expect(state).toMatchObject({ state: 'open', failures: 0, last_error: { keepsDueTime: true } });
    expect(Math.abs(state.waits_s - 7_200)).toBeLessThan(30);
    const [{ waits_for: waitsFor }] = await acme.database.query<[{ waits_for: string[] }]>(
      `SELECT waits_for FROM issuance WHERE id = $1`,
      [opened.issuanceId],
    );
    expect(waitsFor).toEqual([down]);
  });
});

describe('a product with one CA', () => {
  const alone = async (also: Partial<StoredAuthority> = {}) => {
    const name = await first(also);
    await acme.authoritiesAre(name);
    return name;
  };

  it.each([
    ['longer than the usual interval', 7_200, 7_200],
    ['shorter than the usual interval', 120, 120],
    ['longer than a day', 200_000, 86_400],
  ])(
    'that limits new accounts gets one request, and the next after its Retry-After: %s',
    async (_, said, expected) => {
      const name = await alone();
      fakeCa.override('/newAccount', says(429, 'rateLimited', { 'retry-after': String(said) }));
      const sent = fakeCa.requestCount('/newAccount');
      const all = [await order('1.example.com'), await order('2.example.com'), await order('3.example.com')];
      const worker = acme.worker();
      await Promise.all(all.map(async ({ issuanceId }) => await worker.run(issuanceId)));
      await acme.advance(await order('4.example.com'));
      expect(fakeCa.requestCount('/newAccount') - sent).toBe(1);
      const { down_s: downS } = await downOf(name);
      expect(Math.abs((downS ?? 0) - expected)).toBeLessThan(15);
      for (const each of all)
        expect(await acme.state(each.issuanceId)).toMatchObject({ state: 'open', failures: 0 });
    },
  );

  it('waits without a failure for the limit that the CA reports, and other orders continue', async () => {
    const limits = { newOrders: { count: 300, perS: 10_800 }, perNameSet: { count: 5, perS: 604_800 } };
    await alone({ limits });
    const words =
      'too many certificates (5) already issued for this exact set of identifiers in the last 168h0m0s';
    fakeCa.overrideOnce('/newOrder', says(429, 'rateLimited', { 'retry-after': '7200' }, words));
    const names = ['limited.example.com'];
    const opened = await acme.order(names, opensslCsr(names));
    const state = await acme.advance(opened);
    expect(state).toMatchObject({ state: 'open', failures: 0, last_error: { code: 'rate_limited' } });
    expect(state.last_error?.message).toContain(words);
    expect(Math.abs(state.waits_s - 7_200)).toBeLessThan(30);
    // Another order for the same names waits without a request to the CA; other names do not.
    const sent = fakeCa.requestCount('/newOrder');
    const same = await acme.advance(await acme.order(names, opensslCsr(names)));
    expect(same).toMatchObject({ failures: 0, last_error: { code: 'rate_limited' } });
    expect(fakeCa.requestCount('/newOrder')).toBe(sent);
    await acme.worker().run((await order('one.example.com')).issuanceId);
    expect(fakeCa.requestCount('/newOrder')).toBe(sent + 1);
  });

  it('that reports a limit repeatedly gets a request whenever the time that it says is over', async () => {
    const limits = { newOrders: { count: 300, perS: 10_800 }, perNameSet: { count: 5, perS: 604_800 } };
    const name = await alone({ limits });
    fakeCa.override(
      '/newOrder',
      says(429, 'rateLimited', { 'retry-after': '7200' }, 'the account is paused'),
    );
    const opened = await order('paused.example.com');
    for (const requests of [1, 2, 3]) {
      const before = fakeCa.requestCount('/newOrder');
      const state = await acme.advance(opened);
      expect({ requests, sent: fakeCa.requestCount('/newOrder') - before }).toEqual({ requests, sent: 1 });
      expect(Math.abs(state.waits_s - 7_200)).toBeLessThan(30);
      await acme.timePasses();
      await acme.database.query(`UPDATE ca_limit_bucket SET at = at - interval '7230 s'`);
    }
    const orders = await acme.database.query<object[]>(
      `SELECT spent FROM ca_limit_bucket JOIN ca_account ON ca_account.id = ca_account_id
       WHERE authority = $1 AND kind = 'newOrders'`,
      [name],
    );
    expect(orders).toEqual([{ spent: 0 }]);
  });

  it('retries soon after a CA error, without a failure, and reports the CA and its message', async () => {
    const name = await alone();
    fakeCa.override('/newOrder', says(500, 'serverInternal'));
    const state = await acme.advance(await order('unavailable.example.com'));
    expect(state).toMatchObject({ state: 'open', failures: 0, last_error: { code: 'ca_unavailable' } });
    expect(state.last_error?.message).toContain(name);
    expect(state.waits_s).toBeLessThan(10);
  });

  it('is not available when it is not configured', async () => {
    await acme.authoritiesAre('unknown');
    const state = await acme.advance(await order('unknown.example.com'));
    expect(state).toMatchObject({ failures: 1, last_error: { code: 'product_unavailable' } });
  });
});

describe('an order that was finalized', () => {
  const trusting = async () => {
    const trusted = Buffer.from(fakeCa.tlsRoot.replace(/-----[^-]+-----|\s/g, ''), 'base64');
    const name = await first({ trustedRoots: [trusted] });
    return name;
  };
  const pathOfOrder = () => `/order/${fakeCa.orders.orders.length - 1}`;

  it('is never ordered again elsewhere, however slow the CA is', async () => {
    const name = await trusting();
    const opened = await order('one.example.com');
    let sent = 0;
    const processing: Override = altered(({ body, headers }) => {
      sent += 1;
      const { certificate: _, ...rest } = JSON.parse(body) as Record<string, unknown>;
      return {
        headers: { ...headers, 'retry-after': '600' },
        body: JSON.stringify({ ...rest, status: 'processing' }),
      };
    });
    const number = fakeCa.orders.orders.length;
    fakeCa.override(`/finalize/${number}`, processing).override(`/order/${number}`, processing);
    await acme.worker().run(opened.issuanceId);
    const state = await acme.state(opened.issuanceId);
    expect(state).toMatchObject({ state: 'open', failures: 0, last_error: null });
    expect(state.waits_s).toBeGreaterThan(590);
    for (let look = 0; look < 3; look += 1) {
      await acme.timePasses();
      await acme.worker().run(opened.issuanceId);
    }
    expect(sent).toBe(4);
    fakeCa.override(`/order/${number}`, says(500, 'serverInternal'));
    for (let look = 0; look < 2; look += 1) {
      await acme.timePasses();
      await acme.worker().run(opened.issuanceId);
    }
    expect(await acme.orders(opened)).toMatchObject([{ authority: name, state: 'open' }]);
    expect(fakeCa.orders.orders[number]?.finalizations).toBe(1);
  });

  it.each<[string, Override | null, RegExp]>([
    ['another key and other names', null, /another key than the request.*localhost/],
    ['a chain that cannot be read', altered({ body: 'no chain at all' }), /cannot be used/],
  ])('is not attached, finally, and raises an alarm when the CA returns %s', async (_, override, why) => {
    await trusting();
    const opened = await order('one.example.com');
    if (override !== null) fakeCa.override(`/certificate/${fakeCa.orders.orders.length}`, override);
    const state = await acme.advance(opened);
    expect(state).toMatchObject({ state: 'failed', last_error: { code: 'certificate_mismatch' } });
    expect(state.last_error?.message).toMatch(why);
    expect(await acme.certificates(opened)).toEqual([]);
    expect(acme.alarms).toContain(`${opened.issuanceId} certificate_mismatch`);
    expect(pathOfOrder()).toMatch(/order/);
  });

  it('is over when its certificate is for another key', async () => {
    await trusting();
    const opened = await order('one.example.com');
    expect(await acme.advance(opened)).toMatchObject({ state: 'failed' });
    expect(await acme.orders(opened)).toMatchObject([{ state: 'issued', problem: null }]);
  });

  it('is not attached when its chain leads to no known root', async () => {
    await first();
    const opened = await order('one.example.com');
    const state = await acme.advance(opened);
    expect(state).toMatchObject({ state: 'failed', last_error: { code: 'certificate_mismatch' } });
    expect(state.last_error?.message).toContain('Fake root');
    expect(await acme.certificates(opened)).toEqual([]);
  });

  it('is queried again when the CA denies its URL, and re-created after hours of denial', async () => {
    const name = await trusting();
    const opened = await order('one.example.com');
    fakeCa.override(`/finalize/${fakeCa.orders.orders.length}`, says(500, 'serverInternal'));
    fakeCa.override(`/order/${fakeCa.orders.orders.length}`, says(500, 'serverInternal'));
    await acme.worker().run(opened.issuanceId);
    fakeCa.override(pathOfOrder(), says(404, 'malformed'));
    for (const failures of [1, 2, 3]) {
      await acme.timePasses();
      await acme.worker().run(opened.issuanceId);
      expect(await acme.state(opened.issuanceId)).toMatchObject({ state: 'open', failures });
      expect(await acme.orders(opened)).toMatchObject([{ authority: name, state: 'open' }]);
    }
    await acme.timePasses();
    await acme.worker().run(opened.issuanceId);
    expect(await acme.state(opened.issuanceId)).toMatchObject({
      state: 'open',
      ca_reference: null,
      failures: 4,
    });
    expect(await acme.orders(opened)).toMatchObject([{ authority: name, state: 'failed' }]);
  });
});

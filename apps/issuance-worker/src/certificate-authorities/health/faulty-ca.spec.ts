import { setTimeout as delay } from 'node:timers/promises';
import { LeasedIssuances } from '@certwright/ordering';
import { installedPebbles } from '../../acme/testing/pebble';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { CuttingProxy, type Fate, seeded } from '../../testing/cutting-proxy';
import { type OpenedIssuance, opensslCsr } from '../../testing/opened-issuance';

const names = ['*.faulty.example.com'];
const csr = opensslCsr(names);

/** As in production, a hundred times faster. */
const pace = {
  firstProbeMs: 600,
  probeMs: 600,
  graceMs: 50,
  maxRetryAfterMs: 300_000,
  withoutAccountMs: 6_000,
  failing: [
    { faults: 12, lastingMs: 100 },
    { faults: 4, lastingMs: 2_000 },
  ],
};
const responseMs = 2_000;

let acme: AcmeIssuing;
let proxy: CuttingProxy;
const describeWithPebble = installedPebbles.length > 0 ? describe : describe.skip;

beforeAll(async () => {
  if (installedPebbles.length === 0) return;
  acme = await AcmeIssuing.open({ pace, responseMs });
  const pebble = await acme.pebble('faulty', { vaNosleep: true });
  proxy = await CuttingProxy.start(pebble.directoryUrl, pebble.tlsRoot);
  await acme.database.query(`UPDATE certificate_authority SET directory_url = $1, tls_roots = $2`, [
    proxy.directoryUrl,
    proxy.tlsRoot,
  ]);
  await acme.authoritiesAre('faulty');
  // The account.
  await acme.advance(await acme.order(names, csr));
}, 120_000);
afterAll(async () => {
  await proxy.stop();
  await acme.close();
});
beforeEach(async () => {
  proxy.fate = passed;
  acme.noticed.length = 0;
  acme.unexpectedErrors.length = 0;
  await acme.database.query(
    `UPDATE certificate_authority SET down_since = NULL, down_until = NULL, down_for = NULL, problem = NULL`,
  );
});

const passed = (): Fate => ({ kind: 'passed' });
const isNewOrder = (path: string) => /order-plz|neworder/i.test(path);
const isFinalize = (path: string) => path.includes('/finalize-order/');

async function opened(count: number): Promise<readonly OpenedIssuance[]> {
  const all: OpenedIssuance[] = [];
  for (let index = 0; index < count; index += 1) all.push(await acme.order(names, csr));
  return all;
}

/** Acts as the worker: attempts due issuances, a few at a time, and watches CAs, until all are issued or `isOver`. */
async function work(
  all: readonly OpenedIssuance[],
  isOver: () => boolean = () => false,
  maxAtOnce = 16,
): Promise<void> {
  const worker = acme.worker();
  const watch = acme.watch(worker);
  const leased = new LeasedIssuances(acme.asWorker);
  const ids = new Set(all.map(({ issuanceId }) => issuanceId));
  const running = new Map<string, Promise<void>>();
  const startedMs = performance.now();
  while (!isOver() && (await openOf(ids)) > 0) {
    if (performance.now() - startedMs > 250_000) throw new Error('some are still open');
    await watch.round();
    for (const { id } of await leased.due(256)) {
      if (running.size >= maxAtOnce || running.has(id) || !ids.has(id)) continue;
      running.set(
        id,
        worker.run(id).finally(() => running.delete(id)),
      );
    }
    // Skips only the waits for the CA to validate or issue.
    await acme.database.query(
      `UPDATE issuance SET due_at = now()
       WHERE state = 'open' AND failures = 0 AND last_error IS NULL AND leased_until IS NULL`,
    );
    await delay(10);
  }
  await Promise.all(running.values());
  await watch.settled();
}

async function openOf(ids: ReadonlySet<string>): Promise<number> {
  const [{ count }] = await acme.database.query<[{ count: number }]>(
    `SELECT count(*)::int AS count FROM issuance WHERE state = 'open' AND id = ANY ($1)`,
    [[...ids]],
  );
  return count;
}

const statesOf = async (all: readonly OpenedIssuance[]) =>
  await Promise.all(
    all.map(async ({ issuanceId }) => {
      const { state, failures, last_error: error } = await acme.state(issuanceId);
      return state === 'failed' ? { state, failures, error } : { state, failures };
    }),
  );

async function expectIssuedOnce(all: readonly OpenedIssuance[], finalizedBefore: number): Promise<void> {
  expect(await statesOf(all)).toEqual(all.map(() => ({ state: 'issued', failures: 0 })));
  expect(proxy.finalized - finalizedBefore).toBe(all.length);
  for (const each of all) expect(await acme.certificates(each)).toHaveLength(1);
  expect(acme.unexpectedErrors).toEqual([]);
}

async function authorityRow() {
  const [row] = await acme.database.query<
    [{ down_since: Date | null; down_for: string | null; problem: string | null }]
  >(`SELECT down_since, down_for, problem FROM certificate_authority WHERE name = 'faulty'`);
  return row;
}

describeWithPebble('one bad answer of a CA', () => {
  it('to newOrder delays no order: none fails, and all are issued', async () => {
    let sent = 0;
    proxy.fate = ({ path }) =>
      isNewOrder(path) && (sent += 1) === 1 ? { kind: 'refused', status: 503 } : { kind: 'passed' };
    const finalized = proxy.finalized;
    const all = await opened(20);
    await work(all);
    await expectIssuedOnce(all, finalized);
    expect(acme.noticed).toEqual([]);
  }, 120_000);

  it('with Retry-After delays only that order', async () => {
    let sent = 0;
    proxy.fate = ({ path }) =>
      isNewOrder(path) && (sent += 1) === 1
        ? { kind: 'refused', status: 503, headers: { 'retry-after': '120' } }
        : { kind: 'passed' };
    const all = await opened(8);
    const issued = async () => (await statesOf(all)).filter(({ state }) => state === 'issued').length;
    let count = 0;
    const counting = setInterval(() => void issued().then((now) => (count = now)), 50);
    await work(all, () => count === all.length - 1);
    clearInterval(counting);
    expect(acme.noticed).toEqual([]);
    const states = await Promise.all(all.map(async ({ issuanceId }) => await acme.state(issuanceId)));
    const [late] = states.filter(({ state }) => state === 'open');
    expect(late).toMatchObject({ failures: 0, last_error: { code: 'ca_unavailable' } });
    expect(late?.waits_s).toBeGreaterThan(60);
    await acme.database.query(
      `UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`,
    );
  }, 120_000);
});

describeWithPebble('a fifth of all exchanges with a CA goes wrong', () => {
  /** 12 % 503, 3 % 500, 3 % cut, 4 % late; of finalize, 40 % of the responses are lost and 20 % never arrive. */
  const faults =
    (random: () => number) =>
    (path: string): Fate => {
      const drawn = random();
      if (drawn < 0.12) return { kind: 'refused', status: 503 };
      if (drawn < 0.15) return { kind: 'refused', status: 500 };
      if (drawn < 0.18) return { kind: 'cut' };
      if (drawn < 0.22) return { kind: 'late', byMs: responseMs * 1.2 };
      if (!isFinalize(path)) return { kind: 'passed' };
      const finalize = random();
      return { kind: finalize < 0.4 ? 'dropped' : finalize < 0.6 ? 'hanging' : 'passed' };
    };

  it.each([20_261_122])(
    'and every order is issued, with one order at the CA each; seed %i',
    async (seed) => {
      const fate = faults(seeded(seed));
      proxy.fate = ({ path }) => fate(path);
      const finalized = proxy.finalized;
      const all = await opened(50);
      await work(all);
      await expectIssuedOnce(all, finalized);
    },
    300_000,
  );
});

describeWithPebble('a CA that is down', () => {
  const outages: readonly [string, (path: string) => Fate | null, 'everything' | 'new_orders'][] = [
    ['cuts every connection', () => ({ kind: 'cut' }), 'everything'],
    ['is silent', () => ({ kind: 'hanging' }), 'everything'],
    [
      'responds, and accepts no order',
      (path) => (isNewOrder(path) ? { kind: 'refused', status: 503 } : null),
      'new_orders',
    ],
  ];

  it.each(outages)(
    'because it %s is probed once per interval; then waiting orders are issued, oldest first',
    async (_, outage, scope) => {
      proxy.fate = ({ path }) => outage(path) ?? passed();
      const finalized = proxy.finalized;
      const all = await opened(16);
      await work(all, () => acme.noticed.includes('faulty down'));
      expect(await authorityRow()).toMatchObject({ down_for: scope, down_since: expect.any(Date) });
      // Later orders wait behind earlier ones.
      const late = await opened(4);
      const before = proxy.arrived.length;
      const startedMs = performance.now();
      await work([...all, ...late], () => performance.now() - startedMs > 5 * pace.probeMs);
      const lastedMs = performance.now() - startedMs;
      // A trial follows a successful probe: a nonce and newOrder.
      const perProbe = scope === 'everything' ? 1 : 3;
      expect(proxy.arrived.length - before).toBeLessThanOrEqual((lastedMs / pace.probeMs + 2) * perProbe);
      const waiting = await acme.state(late.at(-1)?.issuanceId ?? '');
      expect(waiting).toMatchObject({ state: 'open', failures: 0, last_error: { code: 'ca_unavailable' } });
      expect(waiting.last_error?.message).toMatch(
        /^The CA faulty has been down since \d{4}-\d\d-\d\dT[\d:]+Z\. .+ The next probe of faulty is at [-\dT:]+Z; issuance continues automatically once the CA is up\.$/,
      );
      proxy.fate = passed;
      const atOnce = 4;
      await work([...all, ...late], () => false, atOnce);
      await expectIssuedOnce([...all, ...late], finalized);
      expect(acme.noticed).toEqual(['faulty down', 'faulty up']);
      expect(await authorityRow()).toEqual({ down_since: null, down_for: null, problem: null });
      const begun = await acme.database.query<{ id: string }[]>(
        `SELECT issuance_id AS id FROM acme_order WHERE state = 'issued' AND issuance_id = ANY ($1) ORDER BY created_at`,
        [[...all, ...late].map(({ issuanceId }) => issuanceId)],
      );
      const turns = late.map(({ issuanceId }) => begun.findIndex(({ id }) => id === issuanceId));
      // Concurrent orders continue in any order.
      expect(Math.min(...turns)).toBeGreaterThan(all.length - atOnce);
    },
    300_000,
  );

  it('for one order alone is up again as soon as another order succeeds', async () => {
    const before = proxy.arrived.length;
    const [broken] = await opened(1);
    if (broken === undefined) throw new Error('an order was opened');
    proxy.fate = ({ path }) => (isFinalize(path) ? { kind: 'refused', status: 500 } : passed());
    await work([broken], () => proxy.arrived.slice(before).some(({ path }) => isFinalize(path)));
    const [{ order_url: url } = { order_url: null }] = await acme.orders(broken);
    const brokenPath = new URL(url ?? '').pathname;
    proxy.fate = ({ path }) => (path === brokenPath ? { kind: 'refused', status: 500 } : passed());
    await acme.database.query(
      `UPDATE certificate_authority SET down_since = now(), down_until = now() + interval '2 s', down_for = 'everything'`,
    );
    const others = await opened(3);
    await acme.timePasses();
    const startedMs = performance.now();
    await work([broken, ...others], () => performance.now() - startedMs > 10 * pace.probeMs);
    expect(await statesOf(others)).toEqual(others.map(() => ({ state: 'issued', failures: 0 })));
    await acme.database.query(
      `UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`,
    );
  }, 120_000);
});

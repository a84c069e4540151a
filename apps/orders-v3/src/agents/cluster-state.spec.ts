import { limits, readState } from '@certwright/agent-contract';
import type { Product } from '@certwright/issuance';
import { leastLoaded } from './agent-tasks.repository';
import {
  type ClusterChanges,
  mayInstall,
  positionOf,
  reportedOutcome,
  type Rollout,
  type SeenOrder,
  stateFor,
} from './cluster-state';
import { rolloutAfter } from './rollouts.repository';

const hash = (character: string) => character.repeat(64);
const agents = { a: 'JPbtasv-EAnAMNfKVnwzyg', b: 'aIlNWPGPLDTUnrL0sRDgQg' };
const certificate = {
  sha256: hash('c'),
  spki_sha256: hash('d'),
  not_before: '2026-11-24T12:00:00Z',
  not_after: '2027-02-22T12:00:00Z',
};
const products = new Map([['free_ca', { rsaSizes: [2048], curves: ['P-256'] } as unknown as Product]]);
const order = (version: number, change: Partial<SeenOrder> = {}): SeenOrder => ({
  ...{ planId: String(version), name: `order ${version}`, version, revision: 1, dnsNames: ['a.example.com'] },
  ...{ keyType: 'rsa', product: 'free_ca', paused: false, csrSpkiSha256: null, certificate: null },
  ...{ rollout: null, makeKey: null, seals: [] },
  ...change,
});
const changes = (change: Partial<ClusterChanges> = {}): ClusterChanges => ({
  ...{ name: 'web', clusterKey: null, version: 100, hasMore: false, membersVersion: 1, memberCount: 2 },
  ...{ resetBefore: 0, orders: [], released: [] },
  ...change,
});
const state = (after: number, change: Partial<ClusterChanges>, agent = agents.a) => {
  const found = stateFor(agent, after, changes(change), products);
  return found === null ? null : readState(Buffer.from(JSON.stringify(found)));
};

describe('the state of an agent', () => {
  it('lists what changed by version, and nothing that is newer than the state', () => {
    const orders = [order(7), order(101), order(3), order(2)];
    expect(state(2, { orders })?.orders.map(({ version }) => version)).toEqual([3, 7]);
  });

  it('is null when nothing changed, except at the start', () => {
    expect(state(5, { orders: [order(5)] })).toBeNull();
    expect(state(0, {})).toMatchObject({ version: 100, orders: [], more: false });
  });

  it('says that members changed', () => {
    expect(state(5, { membersVersion: 6 })).toMatchObject({ members_version: 6, orders: [] });
  });

  it('shows a task to the agent that has it alone, and none of a paused order', () => {
    const makeKey = { id: '12', agentId: agents.a, until: '2026-11-24T12:01:00Z' };
    const tasks = (agent: string, paused = false) =>
      state(1, { orders: [order(5, { makeKey, paused })] }, agent)?.orders[0]?.tasks;
    expect(tasks(agents.a)).toEqual([{ type: 'make_key', id: '12', until: '2026-11-24T12:01:00Z' }]);
    expect(tasks(agents.b)).toEqual([]);
    expect(tasks(agents.a, true)).toEqual([]);
  });

  it('lists an order for its sealer alone when only a sealer was chosen', () => {
    const seals = [{ spkiSha256: hash('e'), sealer: agents.a, version: 50, members: [agents.b] }];
    const orders = [order(5, { seals })];
    expect(state(10, { orders }, agents.a)?.orders).toMatchObject([
      { version: 50, tasks: [{ type: 'seal_key_for', members: [agents.b] }] },
    ]);
    expect(state(10, { orders }, agents.b)).toBeNull();
  });

  it('lists an order on the page of its own change also when its sealer was chosen after that page', () => {
    const seals = [{ spkiSha256: hash('e'), sealer: agents.a, version: 300, members: [agents.b] }];
    const page = { orders: [order(5, { seals })], version: 200, hasMore: true };
    expect(state(0, page)?.orders).toMatchObject([{ name: 'order 5', version: 5 }]);
    // The time of the sealer may be over before it has the page with this change.
    const next = { orders: [order(5, { seals })], version: 300 };
    expect(state(200, next)?.orders).toMatchObject([{ name: 'order 5', version: 300 }]);
  });

  it('lists an order before the end of a cut page when only its sealer was chosen after that', () => {
    const dnsNames = Array.from({ length: 1000 }, (_, index) => `${'n'.repeat(60)}${index}.example.com`);
    const seals = [{ spkiSha256: hash('e'), sealer: agents.a, version: 90, members: [agents.b] }];
    const large = Array.from({ length: 20 }, (_, index) => order(index + 10, { dnsNames }));
    const found = state(1, { orders: [order(5, { seals }), ...large] });
    expect(found?.more).toBe(true);
    expect(found?.orders[0]?.name).toBe('order 5');
  });

  it('ends a page before half a megabyte, and has at least one order', () => {
    const dnsNames = Array.from(
      { length: 100 },
      (_, index) => `${'n'.repeat(60)}${index}.${'m'.repeat(60)}.example.com`,
    );
    const orders = Array.from({ length: 200 }, (_, index) => order(index + 1, { dnsNames }));
    let after = 0;
    let count = 0;
    for (;;) {
      const found = stateFor(agents.a, after, changes({ orders, version: 200 }), products);
      if (found === null) break;
      expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThan(limits.maxResponseBytes);
      count += found.orders.length;
      after = found.version;
      if (!found.more) break;
      expect(found.orders.length).toBeGreaterThan(0);
    }
    expect([count, after]).toEqual([200, 200]);
  });

  it('goes on after a page without news for the agent', () => {
    const seals = [{ spkiSha256: hash('e'), sealer: agents.b, version: 50, members: [agents.a] }];
    const page = { orders: [order(5, { seals })], version: 50, hasMore: true };
    expect(state(10, page)).toMatchObject({ version: 50, more: true, orders: [] });
  });

  it('begins again when the version of the agent is unknown', () => {
    expect(state(101, {})).toMatchObject({ reset: true, orders: [] });
    expect(state(9, { resetBefore: 10 })).toMatchObject({ reset: true });
    expect(state(10, { resetBefore: 10, orders: [order(11)] })?.reset).toBe(false);
  });

  it('ends its first list also when orders are older than what is forgotten', () => {
    const orders = [1, 2, 3, 95].map((version) => order(version));
    const listed: number[] = [];
    let after = 0;
    for (let page = 1; page <= 4; page += 1) {
      const position = positionOf(after);
      const [next] = orders.filter(({ version }) => version > position);
      const hasMore = position < 3;
      const found = state(after, {
        ...{ orders: next === undefined ? [] : [next], resetBefore: 90, hasMore },
        ...(hasMore && next !== undefined ? { version: next.version } : {}),
      });
      expect(found?.reset).toBe(false);
      listed.push(...(found?.orders ?? []).map(({ version }) => version));
      after = found?.version ?? 0;
      expect(found?.more).toBe(page < 4);
    }
    expect([listed, after]).toEqual([[1, 2, 3, 95], 100]);
  });

  it('lets versions grow from page to page of the first list, also where a page reaches what is not forgotten', () => {
    const page = (after: number, version: number) =>
      state(after, { orders: [order(version)], version, hasMore: version < 96, resetBefore: 94 }) ?? {
        version: 0,
        more: false,
      };
    const first = page(0, 93);
    const second = page(first.version, 95);
    expect([first.more, second.more]).toEqual([true, true]);
    // An agent takes a page with `more` whose version does not grow for an error of the server.
    expect(second.version).toBeGreaterThan(first.version);
    expect(page(second.version, 96)).toMatchObject({ version: 96, more: false, reset: false });
  });

  it('ends its first list also when the rest has left meanwhile', () => {
    const { version = 0 } =
      state(0, { orders: [order(3)], version: 3, hasMore: true, resetBefore: 90 }) ?? {};
    expect(state(version, { resetBefore: 90 })).toMatchObject({ version: 100, more: false, reset: false });
  });
});

describe('whether an agent installs', () => {
  const rollout = {
    certificateSha256: hash('c'),
    firstAgent: agents.a,
    isServed: false,
    isStopped: false,
    broken: [],
  };
  const installs = (agent: string, change: Partial<Rollout> | null, memberCount = 2) =>
    mayInstall(agent, order(1, { certificate, rollout: change && { ...rollout, ...change } }), memberCount);

  it.each<[string, boolean, boolean]>([['the first one only, until it serves the certificate', true, false]])(
    '%s',
    (_, first, other) => {
      expect([installs(agents.a, {}), installs(agents.b, {})]).toEqual([first, other]);
    },
  );

  it('all do once it is served, and none when it has stopped', () => {
    expect([installs(agents.a, { isServed: true }), installs(agents.b, { isServed: true })]).toEqual([
      true,
      true,
    ]);
    expect([installs(agents.a, { isStopped: true }), installs(agents.b, { isStopped: true })]).toEqual([
      false,
      false,
    ]);
  });

  it('none does for a certificate whose roll-out has not begun', () => {
    expect(installs(agents.a, null)).toBe(false);
    expect(installs(agents.a, { certificateSha256: hash('0'), isServed: true })).toBe(false);
  });

  it('the only agent of a cluster always does', () => {
    expect(installs(agents.a, { isStopped: true }, 1)).toBe(true);
  });
});

describe('a report', () => {
  const outcome = (...states: (readonly [string, string | null])[]) =>
    reportedOutcome(
      { states: states.map(([name, sha]) => ({ state: name, certificateSha256: sha })) },
      hash('c'),
    );

  it('says that a host serves the certificate when all of its points do', () => {
    expect(outcome(['serving', hash('c')], ['installed', hash('c')])).toBe('serves');
    expect(outcome(['serving', hash('c')], ['installing', null])).toBe('underway');
    expect(outcome(['serving', hash('0')])).toBe('underway');
    expect(outcome(['serving', hash('c')], ['failed', null])).toBe('broken');
    expect(outcome(['rolled_back', hash('0')])).toBe('broken');
    expect(outcome(['released', null])).toBe('none');
    expect(outcome()).toBe('none');
  });
});

describe('a roll-out after a report', () => {
  const open: Rollout = {
    ...{ certificateSha256: hash('c'), firstAgent: agents.a, isServed: false, isStopped: false, broken: [] },
  };

  it('is served when any host serves the certificate', () => {
    for (const agent of Object.values(agents))
      expect(rolloutAfter(open, agent, 'serves', true)).toMatchObject({ isServed: true });
    expect(rolloutAfter({ ...open, isServed: true }, agents.a, 'serves', true)).toBeNull();
  });

  it('passes the turn of a broken host on, and stops after two, also when others serve it', () => {
    const once = rolloutAfter(open, agents.a, 'broken', true);
    expect(once).toMatchObject({ firstAgent: null, broken: [agents.a], isStopped: false });
    expect(rolloutAfter(once ?? open, agents.a, 'broken', true)).toBeNull();
    const served = { ...open, broken: [agents.a], isServed: true };
    expect(rolloutAfter(served, agents.b, 'broken', true)).toMatchObject({
      isStopped: true,
      isServed: false,
    });
  });

  it('goes on when a broken host succeeds later', () => {
    const stopped = { ...open, firstAgent: null, isStopped: true, broken: [agents.a, agents.b] };
    expect(rolloutAfter(stopped, agents.a, 'serves', true)).toEqual({
      ...stopped,
      ...{ isStopped: false, isServed: true, broken: [agents.b] },
    });
  });

  it('does not wait for a host that does not use the order', () => {
    expect(rolloutAfter(open, agents.a, 'none', true)).toMatchObject({ firstAgent: null, isServed: false });
    expect(rolloutAfter(open, agents.a, 'none', false)).toMatchObject({ isServed: true });
    expect(rolloutAfter(open, agents.b, 'none', false)).toBeNull();
  });
});

describe('a task', () => {
  it('goes to the agent with the fewest, and not to the one that did not respond unless it is alone', () => {
    const load = new Map([
      ['a', 3],
      ['b', 1],
    ]);
    expect(leastLoaded(['a', 'b'], load, null)).toBe('b');
    expect(leastLoaded(['a', 'b'], load, 'b')).toBe('a');
    expect(leastLoaded(['b'], load, 'b')).toBe('b');
    expect(leastLoaded([], load, null)).toBeNull();
    expect(leastLoaded(['c'], new Map([['c', 20]]), null)).toBeNull();
  });
});

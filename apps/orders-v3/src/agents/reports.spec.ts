import { agentPaths } from '@certwright/agent-contract';
import { AgentsFixture, orderPath } from '../testing/agents-fixture';
import type { Tenant } from '../testing/running-api';
import { installationOf, randomHash } from '../testing/spec-agent';

jest.setTimeout(60_000);

let fixture: AgentsFixture;
let tenant: Tenant;

beforeAll(async () => {
  fixture = await AgentsFixture.start();
});
afterAll(async () => await fixture.stop());
beforeEach(async () => {
  ({ tenant } = await fixture.begin());
});

describe('a report', () => {
  const stored = async () =>
    await fixture.query<{ point: string; state: string }>(
      `SELECT point, installation.state FROM installation JOIN order_v3 USING (plan_id) WHERE account_id = $1 ORDER BY point`,
      tenant.accountId,
    );

  it('replaces the installations of the orders that it names, and an older number changes nothing', async () => {
    const { agent } = await fixture.keyed('shop');
    await fixture.order('mail');
    const all = ['nginx', 'haproxy'].map((point) => installationOf('shop', 'waiting', null, point));
    expect(
      (await agent.report([...all, installationOf('mail', 'waiting', null, 'postfix')], {}, 5)).status,
    ).toBe(204);
    expect(await stored()).toHaveLength(3);
    expect((await agent.report([], { without_points: ['shop'] }, 5)).status).toBe(204);
    expect(await stored()).toHaveLength(3);
    expect((await agent.report([installationOf('shop', 'no_key', null)], {}, 6)).status).toBe(204);
    expect(await stored()).toEqual([
      { point: 'nginx', state: 'no_key' },
      { point: 'postfix', state: 'waiting' },
    ]);
  });

  it('about orders of other clusters is refused, about one that has just left is ignored', async () => {
    const { agent } = await fixture.keyed('shop');
    expect((await agent.report([installationOf('nowhere', 'waiting', null)])).json.sub_errors).toMatchObject([
      { field: 'installations[0].order' },
    ]);
    await tenant.delete(orderPath('shop'));
    expect((await agent.report([installationOf('shop', 'serving', randomHash())])).status).toBe(204);
    expect((await agent.report([installationOf('shop', 'released', null)])).status).toBe(204);
    expect(await stored()).toEqual([]);
  });

  it('is bounded plain text', async () => {
    const { agent } = await fixture.keyed('shop');
    const installation = installationOf('shop', 'failed', null);
    for (const change of [
      { problem: 'p'.repeat(501) },
      { problem: 'bell \u0007' },
      { problem: 'half a character \ud83d' },
      { point: 'p'.repeat(101) },
      { point: '' },
      { state: 'on fire' },
      { certificate_sha256: 'ABC' },
      { since: 'yesterday' },
      { since: '2026-02-30T00:00:00Z' },
      { point: 'half a character \ud83d' },
      { served: [{ address: 'half \ud83d', sha256: null, checked_at: '2026-11-24T12:00:00Z' }] },
      { served: [{ address: '127.0.0.1:443', sha256: null, checked_at: '2026-13-45T00:00:00Z' }] },
    ])
      expect([change, (await agent.report([{ ...installation, ...change }])).status]).toEqual([change, 400]);
    const many = Array.from({ length: 501 }, (_, index) =>
      installationOf('shop', 'waiting', null, `p${index}`),
    );
    expect((await agent.report(many)).status).toBe(413);
    const html = { ...installation, problem: '<script>alert(1)</script>' };
    expect((await agent.report([html])).status).toBe(204);
  });

  it('larger than its limit is refused before it is read, and a large CSR request is not', async () => {
    const { agent } = await fixture.keyed('shop');
    const big = { number: 1, padding: 'x'.repeat(70_000) };
    expect((await agent.post(agentPaths.reports, big)).status).toBe(413);
    const large = { task: '1', csr: 'AAAA', keys: [], padding: 'x'.repeat(1_000_000) };
    expect((await agent.post(agentPaths.csr('shop'), large)).status).toBe(400);
  });
});

import type { Outcome } from '@certwright/issuance';
import type { LatestIssuance, RecordOfPlan } from '@certwright/ordering';
import type { StoredOrder } from './order';
import { type IssuanceContext, issuanceJson } from './issuance-json';

const now = new Date('2026-11-20T12:00:00Z');
const places = { approvalZone: 'approval.test', approvalUrl: 'http://approval.test' };
const record: RecordOfPlan = {
  integrationId: '172594820411904',
  dnsName: 'example.com',
  state: 'wanted',
  problem: { code: 'text', text: 'ns2.example.net does not respond with the record yet.' },
  failures: 0,
  stoppedAt: null,
};

const refused: Outcome = { code: 'dns_gateway_failed', fault: 'provider_auth_failed', saying: 'No.' };

function integrationOf(dnsName: string, records: readonly RecordOfPlan[]): unknown {
  const order = {
    dnsNames: [dnsName],
    approverEmails: {},
    paused: false,
    termsId: '1',
  } as unknown as StoredOrder;
  const latest = {
    state: 'open',
    approvals: [],
    records,
    dueAt: now,
    renewAt: null,
  } as unknown as LatestIssuance;
  const rest = { labels: new Map(), ruleSecret: 's', mailboxes: [], endpoints: [], now };
  const context: IssuanceContext = { latest, ...rest };
  const { names } = issuanceJson(order, { ...context, awaitedKey: null }, places);
  return names[0]?.integration;
}

describe('the integration of a name', () => {
  it.each<[string, Partial<RecordOfPlan>, object]>([
    [
      'waits, and says for what',
      {},
      { state: 'waiting', problem: 'ns2.example.net does not respond with the record yet.' },
    ],
    ['is published', { state: 'standing', problem: null }, { state: 'standing', problem: null }],
    ['fails', { failures: 1, problem: refused }, { state: 'failing', problem: 'No.' }],
    ['fails when something else took the place', { stoppedAt: '2026-11-20T11:00:00Z' }, { state: 'failing' }],
  ])('%s', (_, also, expected) => {
    const found = integrationOf('example.com', [{ ...record, ...also }]);
    expect(found).toMatchObject({ integration_id: 172594820411904, ...expected });
  });

  it('is that of its base name for a wildcard, and null where none publishes', () => {
    expect(integrationOf('*.example.com', [record])).toMatchObject({ state: 'waiting' });
    expect(integrationOf('www.example.com', [record])).toBeNull();
  });
});

import type { LookUp } from '@certwright/dns-lookup';
import { NameServers } from '../name-servers/name-servers';
import { ZoneNetwork } from '../testing/zone-network';
import { DnsApprover } from './dns-approver';
import { parentDelegation } from './parent-delegation';

const approvalZone = 'approval.test';
const recordName = '_acme-challenge.www.example.com';
const question = {
  accountId: '1',
  planId: '2',
  dnsName: 'www.example.com',
  delegationLabel: 'ours',
  parent: null,
  record: null,
  approverEmail: null,
  now: new Date(),
};

let network: ZoneNetwork;
beforeAll(async () => {
  network = await ZoneNetwork.open(['example.com']);
});
afterAll(async () => await network.close());
beforeEach(() => network.publish(recordName, null));

/** Shows the child's side of the zone cut, like a recursive resolver, for any tenant's label. */
const recursing: LookUp = async (name, type, options) => {
  if (name !== recordName) return await network.lookUp(name, type, options);
  const from = '127.0.0.1:53';
  if (type !== 'NS') return { from, kind: 'nodata' };
  const record = { name, type: 'NS', ttl: 1, data: `ns1.${approvalZone}` } as const;
  return { from, kind: 'records', answers: [record], authority: [] };
};

const check = async (
  dnsName = question.dnsName,
  nameServers: Pick<NameServers, 'find'> = network.nameServers,
  signal = new AbortController().signal,
) => {
  const doubt = async () => await Promise.resolve();
  const approver = new DnsApprover(recursing, approvalZone, doubt, parentDelegation(recursing, nameServers));
  return await approver.check({ ...question, dnsName }, signal);
};

describe('a name that is delegated (NS), seen through a recursive resolver', () => {
  it('is approved when every server of the parent zone refers to the label of the tenant', async () => {
    network.publish(recordName, `ours.${approvalZone}`, undefined, 'NS');
    expect(await check()).toEqual({ approved: true });
    expect(await check('*.www.example.com')).toEqual({ approved: true });
  });

  it('is not approved by the label of another tenant, even if the child responds equally', async () => {
    network.publish(recordName, `theirs.${approvalZone}`, undefined, 'NS');
    expect(await check()).toMatchObject({
      approved: false,
      problem: expect.objectContaining({ code: 'name_servers_differ' }) as unknown,
    });
  });

  it('is not approved while one server of the parent zone does not refer there', async () => {
    network.publish(recordName, `ours.${approvalZone}`, ['127.0.0.2'], 'NS');
    expect(await check()).toMatchObject({ approved: false });
  });

  it('is not approved, as soon as the time of the check is over, while a server of the parent zone is silent', async () => {
    const addressesOf = async (_: string, signal: AbortSignal) =>
      await new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('no response')), { once: true });
      });
    const silent = new NameServers({ lookUp: recursing, guard: { addressesOf }, port: network.port });
    const startedMs = performance.now();
    expect(await check(question.dnsName, silent, AbortSignal.timeout(500))).toMatchObject({
      approved: false,
      problem: expect.objectContaining({ code: 'name_servers_differ' }) as unknown,
    });
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });
});

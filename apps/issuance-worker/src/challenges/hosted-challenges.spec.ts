import { GatewayFault } from '@certwright/gateway-client';
import { Challenges } from '@certwright/approvals';
import { HostedChallengeRecords } from '../integrations/hosted-challenge-records';
import { LeasedIntegrations } from '@certwright/dns-integrations';
import { Transactions } from '@certwright/core-schema';
import type { DataSource } from 'typeorm';
import { FaultyDatabase } from '../testing/faulty-database';
import { Keeping } from '../testing/keeping';
import { TextGateway } from '../testing/text-gateway';
import type { PublishedChallenge } from './challenge-publisher';
import { clearHosted } from './clear-hosted';
import { HostedChallenges } from './hosted-challenges';
import { HostedRecords } from './hosted-records';
import { HostedValuesSeen } from './hosted-values-seen';

const approvalZone = 'approval.test';
const accountId = '3000001';
const operator = '3000002';
const dnsName = 'www.example.com';
const label = 'l'.repeat(32);
const target = `${label}.${approvalZone}`;

let keeping: Keeping;
let gateway: TextGateway;
let integration: string;
const reported: string[] = [];

beforeAll(async () => {
  keeping = await Keeping.open([approvalZone]);
  const { transactions, delegations } = keeping.issuing.repositories;
  await keeping.integration(accountId, []);
  await transactions.run(async (tx) => await delegations.ensure(tx, accountId, [dnsName], () => label));
}, 30_000);
afterAll(async () => await keeping.close());
beforeEach(async () => {
  await keeping.database.query(`DELETE FROM challenge_record`);
  keeping.network.publishTexts(target, []);
  gateway = new TextGateway(keeping.network);
  integration = await keeping.integration(operator, [approvalZone]);
  reported.splice(0);
});

const challenge = (letter: string): PublishedChallenge => {
  return { type: 'dns-01', accountId, dnsName, label, value: letter.repeat(43) };
};
const both = [challenge('a'), challenge('b')];
const standing = (...letters: readonly string[]) => letters.map((letter) => `${target} ${letter.repeat(43)}`);

function hosting(source: DataSource = keeping.asWorker, integrationId = integration) {
  const rows = new HostedChallengeRecords(source);
  const events = {
    gone: () => void reported.push('gone'),
    addFailed: (_: string, __: object, { code }: GatewayFault) => void reported.push(`add ${code}`),
    removeFailed: (_: string, __: object, { code }: GatewayFault) => void reported.push(`remove ${code}`),
    leaseLost: () => void reported.push('lease lost'),
  };
  const integrations = new LeasedIntegrations(source, new Transactions(source));
  const records = new HostedRecords({ approvalZone, gateway, integrations, records: rows, events });
  const { lookUp, nameServers } = keeping.network;
  const challenges = new Challenges(source);
  const publisher = new HostedChallenges({
    ...{ integrationId, stored: challenges, rows, records, events },
    seen: new HostedValuesSeen(approvalZone, lookUp, nameServers),
  });
  return { publisher, challenges, clear: clearHosted(rows, records) };
}

const atProvider = () => [...gateway.records].sort();
const rows = async () =>
  await keeping.database.query<{ value: string; attempted: boolean; handle: string | null }[]>(
    `SELECT value, attempted_at IS NOT NULL AS attempted, record_handle AS handle FROM challenge_record ORDER BY value`,
  );
const setTime = async (table: string, column: string) =>
  await keeping.database.query(`UPDATE ${table} SET ${column} = now() - interval '1 s'`);
const free = async () => await setTime('dns_integration', 'leased_until');
const expire = async () => await setTime('challenge_record', 'expires_at');

/** Invariant: the provider has no record without a row. */
async function expectKnown(nth = 0): Promise<void> {
  const known = (await rows()).flatMap(({ value, attempted }) => (attempted ? [`${target} ${value}`] : []));
  expect({ nth, unknown: atProvider().filter((record) => !known.includes(record)) }).toEqual({
    nth,
    unknown: [],
  });
}

/** Others go on. */
async function goOn(): Promise<void> {
  gateway.strike = null;
  await free();
}

it('published values coexist, are seen, and are removed when withdrawn', async () => {
  const { publisher, clear } = hosting();
  expect(await publisher.unseen(both)).toMatchObject({ code: 'challenge_not_visible' });
  expect(await publisher.publish(both)).toBeNull();
  expect(atProvider()).toEqual(standing('a', 'b'));
  expect(await publisher.unseen(both)).toBeNull();
  expect(await publisher.publish(both)).toBeNull();
  expect(gateway.requests).toHaveLength(2);
  await publisher.withdraw([challenge('a')]);
  await clear();
  expect(atProvider()).toEqual(standing('b'));
  await publisher.withdraw(both);
  await clear();
  expect([atProvider(), await rows()]).toEqual([[], []]);
  expect(reported).toEqual([]);
});

it('a value missing on one server of the zone is not seen, and the server is reported', async () => {
  gateway.reaches = ['127.0.0.2'];
  const { publisher } = hosting();
  await publisher.publish(both);
  expect(await publisher.unseen(both)).toEqual({
    code: 'challenge_not_visible',
    places: { first: [{ name: target, server: 'ns3.dns.test' }], more: 0 },
  });
});

it('while another worker has the integration, the issuance waits 2 s without requests', async () => {
  const integrations = new LeasedIntegrations(keeping.asWorker, new Transactions(keeping.asWorker));
  const held = await integrations.lease(integration, 60_000);
  const { publisher } = hosting();
  expect(await publisher.publish(both)).toEqual({ problem: null, pauseMs: 2_000 });
  expect(gateway.requests).toEqual([]);
  if (held !== null) await integrations.release(held.lease);
  expect(await publisher.publish(both)).toBeNull();
});

it('keeps expired rows until their records are removed', async () => {
  const { publisher, challenges, clear } = hosting();
  await publisher.publish(both);
  await expire();
  await challenges.forgetExpired();
  expect(await rows()).toHaveLength(2);
  await clear();
  expect([atProvider(), await rows()]).toEqual([[], []]);
});

it('a withdrawn value that is published again is added again', async () => {
  const { publisher, clear } = hosting();
  await publisher.publish(both);
  await publisher.withdraw(both);
  expect(await publisher.publish(both)).toBeNull();
  await clear();
  expect(atProvider()).toEqual(standing('a', 'b'));
  expect(gateway.requests).toHaveLength(4);
});

it('another integration takes over once the first has no record left', async () => {
  await hosting().publisher.publish(both);
  const first = gateway.requests.length;
  const second = hosting(keeping.asWorker, await keeping.integration(operator, [approvalZone]));
  expect(await second.publisher.publish(both)).toEqual({ problem: null, pauseMs: 2_000 });
  expect(gateway.requests).toHaveLength(first);
  await second.clear();
  expect(atProvider()).toEqual([]);
  expect(await second.publisher.publish(both)).toBeNull();
  expect(atProvider()).toEqual(standing('a', 'b'));
});

it('a deleted integration raises an alarm, and its rows are deleted with it', async () => {
  const { publisher, clear } = hosting();
  await publisher.publish(both);
  await keeping.database.query(`UPDATE dns_integration SET deleted_at = now(), handle = NULL WHERE id = $1`, [
    integration,
  ]);
  await publisher.withdraw(both);
  expect(await publisher.publish([challenge('c')])).toMatchObject({ pauseMs: null });
  expect(reported).toEqual(['gone']);
  await clear();
  expect((await rows()).map(({ value }) => value[0])).toEqual(['c']);
});

describe.each(['before', 'after'] as const)('the gateway fails %s carrying out the request', (when) => {
  it('when adding: the record has a row and is published by the next attempt', async () => {
    const { publisher, clear } = hosting();
    gateway.strike = { endpoint: 'add', when };
    expect(await publisher.publish(both)).toMatchObject({ pauseMs: null });
    expect(reported).toEqual(['add unreachable']);
    await expectKnown();
    expect(await publisher.publish(both)).toBeNull();
    await publisher.withdraw(both);
    await clear();
    expect([atProvider(), await rows()]).toEqual([[], []]);
  });

  it('when adding without another attempt: the record is still removed', async () => {
    const { publisher, clear } = hosting();
    gateway.strike = { endpoint: 'add', when };
    await publisher.publish(both);
    await expire();
    await clear();
    await hosting().challenges.forgetExpired();
    expect([atProvider(), await rows()]).toEqual([[], []]);
  });

  it('when removing: it is retried', async () => {
    const { publisher, clear } = hosting();
    await publisher.publish(both);
    await publisher.withdraw(both);
    gateway.strike = { endpoint: 'remove', when };
    expect(await clear()).toBe(60_000);
    await expectKnown();
    await clear();
    expect([atProvider(), await rows()]).toEqual([[], []]);
  });
});

it('a record that the gateway refuses needs no removal', async () => {
  const { publisher, challenges } = hosting();
  const fault = new GatewayFault('policy_violation', 'Not allowed.', { retryAfterS: 7 });
  gateway.strike = { endpoint: 'add', when: 'before', fault };
  expect(await publisher.publish([challenge('a')])).toMatchObject({ pauseMs: 7_000 });
  expect(await rows()).toMatchObject([{ attempted: false }]);
  await expire();
  await challenges.forgetExpired();
  expect(await rows()).toEqual([]);
});

it('an invalid handle is replaced', async () => {
  const { publisher, clear } = hosting();
  await publisher.publish([challenge('a')]);
  await publisher.withdraw([challenge('a')]);
  const fault = new GatewayFault('bad_handle', 'The handle is not valid.');
  gateway.strike = { endpoint: 'remove', when: 'before', fault };
  await clear();
  await clear();
  expect([atProvider(), await rows()]).toEqual([[], []]);
});

describe.each(['before', 'after'] as const)('the database connection fails %s a statement', (when) => {
  it('every record has a row, and all are published and removed in the end', async () => {
    for (let nth = 1; ; nth += 1) {
      const faulty = new FaultyDatabase(keeping.asWorker, nth, when);
      const struck = hosting(faulty.source);
      try {
        await struck.publisher.publish(both);
        await struck.publisher.withdraw([challenge('a')]);
        await struck.clear();
      } catch {
        expect(faulty.struck).toBe(true);
      }
      await expectKnown(nth);
      await goOn();
      const { publisher, clear } = hosting();
      expect({ nth, notYet: await publisher.publish(both) }).toEqual({ nth, notYet: null });
      expect(atProvider()).toEqual(standing('a', 'b'));
      await publisher.withdraw(both);
      await clear();
      expect({ nth, left: [atProvider(), await rows()] }).toEqual({ nth, left: [[], []] });
      if (!faulty.struck) {
        expect(nth).toBeGreaterThan(15);
        break;
      }
    }
  }, 60_000);
});

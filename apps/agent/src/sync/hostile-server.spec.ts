import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import {
  agentId,
  clusterKeyFromSeed,
  encodeBase64url,
  newClusterKey,
  newIdentityKey,
  newSealingKey,
  rawPublicKey,
  sealKey,
  signStatement,
} from '@certwright/agent-contract';
import { FakeServer } from '../testing/fake-server';
import { testKey } from '../testing/test-ca';
import { newJoinText, newSeed, TestHost } from '../testing/test-host';

const order = 'www.example.com';
let server: FakeServer;
let host: TestHost;
let seed: Uint8Array;

beforeEach(async () => {
  server = await FakeServer.start();
  host = new TestHost(server);
  host.configure(`[[install]]\norder = "${order}"\n`);
  seed = newSeed();
  host.joinText = newJoinText(server, { seed });
  await host.enrol();
});
afterEach(async () => {
  await host.end();
  await server.stop();
});

const stateFiles = (folder: string) =>
  existsSync(path.join(host.state, folder)) ? readdirSync(path.join(host.state, folder)) : [];
const currentOf = (name: string) => existsSync(path.join(host.state, 'orders', name, 'current'));
const once = async () => {
  const agent = host.agent();
  await agent.once().catch((error: unknown) => host.logged.push(String(error)));
  return agent;
};

describe('orders', () => {
  it('makes no key for a name outside of names, and reports it', async () => {
    server.addOrder(order, { dnsNames: [order, 'www.example.net'] });
    const agent = await once();
    expect(server.csrs).toEqual([]);
    expect(stateFiles('keys')).toEqual([]);
    const problem = `order ${order}: makes no key: www.example.net is not in names of the configuration`;
    expect(agent.problem()).toBe(problem);
    expect(server.reports.at(-1)?.agent.problem).toBe(problem);
  });

  it.each(['../../etc/cron.d/x', '..%2f..%2fetc', 'a/b', '.hidden', 'CON', 'x'.repeat(255)])(
    'an order named %s stays within its folder',
    async (name) => {
      host.configure(`[[install]]\norder = ${JSON.stringify(name)}\n`);
      server.addOrder(name, { dnsNames: [order] });
      await once();
      const [folder = '', ...rest] = stateFiles('orders');
      expect(rest).toEqual([]);
      expect(folder).toMatch(/^[a-z0-9%_A-Z-][a-z0-9%_.A-Z-]{0,199}$/);
      expect(currentOf(folder)).toBe(true);
      expect(existsSync('/etc/cron.d/x')).toBe(false);
    },
  );

  it.each(['a\nb', 'a\u0000b', ''])(
    'a name with control characters, %j, is refused with its response',
    async (name) => {
      server.addOrder(order, { isAsked: false });
      server.falsify = (call, status, body) =>
        call.endsWith('/state') && status === 200
          ? {
              body: {
                ...(body as object),
                orders: (body as { orders: object[] }).orders.map((each) => ({ ...each, name })),
              },
            }
          : undefined;
      await once();
      expect(stateFiles('orders')).toEqual([]);
      expect(host.logged.join('\n')).toContain('is not a name');
    },
  );

  it.each([
    ['another name', { name: 'db' }],
    ['another cluster key', { cluster_key: encodeBase64url(newClusterKey().publicKey) }],
    ['no cluster key', { cluster_key: null }],
  ])('a cluster with %s is refused', async (_what, changes) => {
    server.addOrder(order);
    server.falsify = (call, status, body) =>
      call.endsWith('/state') && status === 200
        ? { body: { ...(body as object), cluster: { ...(body as { cluster: object }).cluster, ...changes } } }
        : undefined;
    await once();
    expect(server.csrs).toEqual([]);
    expect(host.logged.join('\n')).toContain('names another cluster');
  });
});

describe('versions', () => {
  const changed = (change: object) => {
    server.addOrder(order);
    server.falsify = (call, status, body) =>
      call.endsWith('/state') && status === 200 ? { body: { ...(body as object), ...change } } : undefined;
  };

  it('a server that always requests a new start is not followed', async () => {
    changed({ reset: true, orders: [] });
    await once();
    expect(host.logged.join('\n')).toContain('requests a new start again and again');
  });

  it('a server that always has more is not followed', async () => {
    changed({ more: true, version: 0, orders: [] });
    await once();
    expect(host.logged.join('\n')).toContain('the version does not grow');
  });

  it('a refusal that concerns one order does not stop the others', async () => {
    host.configure(`[[install]]\norder = "${order}"\n[[install]]\norder = "api.example.com"\n`);
    const refused = server.addOrder(order);
    server.addOrder('api.example.com');
    server.falsify = (call) =>
      call.endsWith(`/certificates/${refused.issued?.sha256}`)
        ? { status: 404, body: { code: 'not_found', message: 'no such certificate' } }
        : undefined;
    const agent = await once();
    expect(currentOf('api.example.com')).toBe(true);
    expect(agent.problem()).toContain(`order ${order}: `);
  });

  it('a certificate that was refused and is withdrawn leaves no problem', async () => {
    const ordered = server.addOrder(order);
    await once();
    const good = ordered.issued;
    ordered.issued = server.ca.issue(testKey().spki, [order]);
    server.touch(ordered);
    await once();
    expect(server.lastReport(order)?.state).toBe('no_key');
    ordered.issued = good;
    server.touch(ordered);
    await once();
    expect(server.lastReport(order)).toMatchObject({ state: 'installed', problem: null });
  });
});

describe('certificates', () => {
  async function withCertificate(change: (issued: ReturnType<typeof make>) => void) {
    const ordered = server.addOrder(order);
    await once();
    const first = ordered.issued?.sha256;
    expect(currentOf(order)).toBe(true);
    const issued = make();
    ordered.issued = issued;
    change(issued);
    server.touch(ordered);
    await once();
    expect(server.lastReport(order)?.certificate_sha256).toBe(first);
    return server.lastReport(order);
  }
  const make = () => server.ca.issue(testKey().spki, [order]);

  it('a certificate of a key that no member made is not installed', async () => {
    const report = await withCertificate(() => undefined);
    expect(report?.state).toBe('no_key');
  });

  it('a certificate for another key than announced is not installed', async () => {
    const ordered = server.addOrder(order);
    await once();
    const present = ordered.issued;
    const forged = server.ca.issue(testKey().spki, [order]);
    ordered.issued = { ...forged, spkiSha256: present?.spkiSha256 ?? '' };
    server.touch(ordered);
    await once();
    const report = server.lastReport(order);
    expect(report).toMatchObject({ state: 'failed', certificate_sha256: present?.sha256 });
    expect(report?.problem).toContain('another key');
  });

  it('a chain of 10,000 certificates is refused with its response', async () => {
    server.falsify = (call, status, body) =>
      call.includes('/certificates/') && status === 200
        ? { body: { ...(body as object), chain: Array.from({ length: 10_000 }, () => 'MAA=') } }
        : undefined;
    server.addOrder(order);
    await once();
    expect(currentOf(order)).toBe(false);
    expect(host.logged.join('\n')).toContain('chain has more than 20 entries');
  });
});

describe('members', () => {
  const invented = () => {
    const [identity, sealing] = [newIdentityKey(), newSealingKey()].map(rawPublicKey);
    if (identity === undefined || sealing === undefined) throw new Error('no keys');
    const id = agentId(identity);
    return {
      id,
      identity,
      sealing,
      member: {
        agent_id: id,
        name: 'spy',
        identity_key: encodeBase64url(identity),
        sealing_key: encodeBase64url(sealing),
      },
    };
  };

  it.each([
    ['without a statement', () => null],
    [
      'with a statement by another cluster key',
      (spy: ReturnType<typeof invented>) =>
        signStatement(newClusterKey(), {
          identityKey: spy.identity,
          sealingKey: spy.sealing,
          time: new Date(),
        }),
    ],
    ['with the statement of another member', () => [...server.members.values()][0]?.statement ?? null],
    [
      'with a swapped sealing key',
      (spy: ReturnType<typeof invented>) =>
        signStatement(clusterKeyFromSeed(seed), {
          identityKey: spy.identity,
          sealingKey: rawPublicKey(newSealingKey()),
          time: new Date(),
        }),
    ],
  ])('no key is sealed for a member %s', async (_what, statementOf) => {
    const spy = invented();
    server.members.set(spy.id, { ...spy.member, statement: statementOf(spy) });
    server.membersVersion++;
    server.addOrder(order);
    const agent = await once();
    const sent = server.requests.filter(
      ({ path: call, method }) => method === 'POST' && call.includes('/orders/'),
    );
    expect(sent.length).toBeGreaterThan(0);
    for (const { body } of sent) expect((JSON.parse(body) as { keys: unknown[] }).keys).toEqual([]);
    expect(agent.problem()).toContain(`member ${spy.id} is refused`);
  });

  it('a key that is sealed by an agent that is not a member is not accepted', async () => {
    const spyIdentity = newIdentityKey();
    const sender = agentId(rawPublicKey(spyIdentity));
    const [receiver] = [...server.members.values()];
    const key = testKey();
    const ordered = server.addOrder(order, { isAsked: false });
    ordered.issued = server.ca.issue(key.spki, [order]);
    server.touch(ordered);
    const sealed = sealKey({
      pkcs8: key.pkcs8,
      binding: {
        cluster: 'web',
        order,
        spkiSha256: key.spkiSha256,
        sender,
        receiver: receiver?.agent_id ?? '',
      },
      receiverSealingKey: Buffer.from(receiver?.sealing_key ?? '', 'base64url'),
      senderIdentityPrivateKey: spyIdentity,
    });
    server.sealed.set(key.spkiSha256, [sealed]);
    await once();
    expect(currentOf(order)).toBe(false);
    expect(stateFiles('keys')).toEqual([]);
    expect(server.lastReport(order)?.state).toBe('no_key');
  });
});

it('a server that enrols another key is refused', async () => {
  const second = new TestHost(server, 'host-2');
  second.joinText = newJoinText(server, { seed });
  server.falsify = (call, status, body) =>
    call.endsWith('/enrol') && status === 200
      ? { body: { ...(body as object), agent_id: [...server.members.keys()][0] } }
      : undefined;
  await expect(second.enrol()).rejects.toThrow('the server enrolled another key than that of this host');
  await second.end();
});

it('a server with another cluster key than the join string is refused', async () => {
  const second = new TestHost(server, 'host-2');
  second.joinText = newJoinText(server, { seed });
  server.falsify = (call, status, body) =>
    call.endsWith('/enrol') && status === 200
      ? {
          body: {
            ...(body as object),
            cluster: { name: 'web', cluster_key: encodeBase64url(newClusterKey().publicKey) },
          },
        }
      : undefined;
  await expect(second.enrol()).rejects.toThrow('another cluster key than the join string');
  await second.end();
});

import { createPrivateKey } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { openKey, orderFolder, rawPublicKey, type SealedKey } from '@certwright/agent-contract';
import { readCsr } from '@certwright/pki';
import { eventually } from '@certwright/testing';
import { Refusal } from '../../apps/agent/src/protocol/agent-api';
import { Unreachable } from '../../apps/agent/src/protocol/http-client';
import { AgentHost } from './agent-host';
import { falsifications } from './falsifications';
import type { Exchange, RelayedRequest, RelayedResponse } from './falsifying-relay';
import { ManagedServer } from './managed-server';

jest.setTimeout(300_000);
const withinMs = 60_000;
const cluster = 'web';
/**
 * `held`: installed, and its key is to be sealed for a late member. `fresh`: not installed yet. `renewed`: installed, and
 * there is a new certificate with a new key. `own`: its key is to be made here.
 */
const orders = {
  held: 'held.example.com',
  fresh: 'new.example.com',
  renewed: 'renewed.example.com',
  own: 'own.example.com',
} as const;
const base = '/api/v3/agent';

type Json = Record<string, unknown>;
interface OrderJson extends Json {
  name: string;
  version: number;
  tasks: { type: string; until?: string }[];
}

/** What a malicious server has to work with: what the honest one sent. Keys are paths without query. */
type Recorded = Map<string, { readonly status: number; body: unknown }>;

let server: ManagedServer;
let maker: AgentHost;
let victim: AgentHost;
let late: AgentHost;
let snapshot: string;
let recorded: Recorded;
/** Order → hashes of the certificates that it may have. */
const issued = new Map<string, string[]>();

beforeAll(async () => {
  server = await ManagedServer.start();
  const join = await server.cluster(cluster);
  const names = Object.values(orders);
  [maker, victim, late] = [0, 1, 2].map(() => new AgentHost(server.relay, names)) as [
    AgentHost,
    AgentHost,
    AgentHost,
  ];
  await maker.enrol(await join());
  await victim.enrol(await join());
  maker.start();
  victim.start();
  for (const name of [orders.held, orders.renewed]) {
    await order(name);
    await installs(name, [maker, victim]);
  }
  await victim.stop();
  snapshot = victim.snapshot();
  await order(orders.fresh);
  await installs(orders.fresh, [maker]);
  const more = [orders.renewed, `www.${orders.renewed}`];
  await server.must(200, 'POST', `/orders/${orders.renewed}`, { dns_names: more });
  await installs(orders.renewed, [maker]);
  await maker.stop();
  server.relay.exchanges.length = 0;
  victim.start();
  for (const name of [orders.fresh, orders.renewed]) await has(victim, name);
  await late.enrol(await join());
  await eventually(() => expect(requestsTo(/\/keys\/[0-9a-f]{64}$/, 'POST').length).toBeGreaterThan(0), {
    withinMs,
  });
  await order(orders.own);
  await eventually(() => expect(requestsTo(/\/csr$/, 'POST')).toHaveLength(1), { withinMs });
  await victim.stop();
  recorded = composed(server.relay.exchanges);
});

afterAll(async () => {
  for (const host of [maker, victim, late]) {
    await host?.stop();
    host?.dispose();
  }
  if (snapshot !== undefined) rmSync(snapshot, { recursive: true });
  await server?.stop();
});

async function order(name: string): Promise<void> {
  await server.must(201, 'POST', '/orders', {
    cluster,
    dns_names: [name],
    product: 'free_ca',
    key_type: 'ecdsa',
  });
}

async function installs(name: string, hosts: readonly AgentHost[]): Promise<void> {
  issued.set(name, [...(issued.get(name) ?? []), await server.issueWhenRequested(name)]);
  for (const host of hosts) await has(host, name);
  // A host that stops before its report keeps its turn in the roll-out for two minutes.
  await eventually(
    async () => {
      const { installations } = await server.order(name, '?expand=installations');
      const reported = installations.filter(
        (each: Json) =>
          each['certificate_sha256'] === issued.get(name)?.at(-1) && each['state'] === 'installed',
      );
      expect(reported).toHaveLength(hosts.length);
    },
    { withinMs },
  );
}

async function has(host: AgentHost, name: string): Promise<void> {
  await eventually(
    () => {
      const sha256 = host.installed(name)?.sha256;
      if (sha256 !== issued.get(name)?.at(-1))
        throw new Error(`${name} is not installed:\n${host.logged.join('\n')}`);
    },
    { withinMs },
  );
}

const requestsTo = (where: RegExp, method: string): Exchange[] =>
  server.relay.exchanges.filter(({ request }) => request.method === method && where.test(request.path));

/** One response per path: of a state, all orders with their tasks; of other calls, the last response. */
function composed(exchanges: readonly Exchange[]): Recorded {
  const result: Recorded = new Map();
  const known = new Map<string, OrderJson>();
  for (const { request, response } of exchanges) {
    // Enrolment has specs of its own below.
    if (response.status >= 300 || request.path === `${base}/enrol`) continue;
    const body: unknown = response.body.length === 0 ? undefined : JSON.parse(response.body.toString());
    const [where = ''] = request.path.split('?');
    if (where !== `${base}/state`) {
      result.set(`${request.method} ${where}`, { status: response.status, body });
    } else if (body !== undefined) {
      const state = body as Json & { orders: OrderJson[] };
      for (const each of state.orders) {
        const tasks = [...each.tasks, ...(known.get(each.name)?.tasks ?? [])].filter(
          ({ type }, index, all) => all.findIndex((other) => other.type === type) === index,
        );
        known.set(each.name, { ...each, tasks });
      }
      const all = [...known.values()].sort((a, b) => a.version - b.version);
      result.set(`GET ${where}`, { status: 200, body: { ...state, orders: all } });
    }
  }
  return result;
}

/** Responds as recorded, with the given replacement; tasks are given until later. */
function replay(
  replaced: { readonly call: string; readonly response: Partial<RelayedResponse> } | undefined,
) {
  let states = 0;
  const until = new Date(Date.now() + 600_000).toISOString();
  const lasting = (body: unknown) =>
    Buffer.from(
      body === undefined
        ? ''
        : JSON.stringify(body, (name, value: unknown) =>
            name === 'until' && value === firstUntil() ? until : value,
          ),
    );
  return (request: RelayedRequest): RelayedResponse => {
    const call = `${request.method} ${request.path.split('?')[0]}`;
    const headers = { 'content-type': 'application/json', date: new Date().toUTCString() };
    if (call === `GET ${base}/state` && ++states > maxStates) throw new Error('enough');
    if (call === replaced?.call)
      return {
        status: 200,
        body: Buffer.alloc(0),
        ...replaced.response,
        headers: { ...headers, ...replaced.response.headers },
      };
    const found = recorded.get(call);
    if (found !== undefined) return { status: found.status, headers, body: lasting(found.body) };
    // Sealed keys and CSRs for falsified names: a malicious server accepts everything.
    const isPost = request.method === 'POST';
    if (isPost && request.path.endsWith('/csr'))
      return { status: 200, headers, body: Buffer.from('{"revision":9}') };
    if (isPost) return { status: 204, headers, body: Buffer.alloc(0) };
    return { status: 404, headers, body: Buffer.from('{"code":"not_found","message":"not found"}') };
  };
}

const maxStates = 20;

function firstUntil(): string | undefined {
  const { orders: all } = recorded.get(`GET ${base}/state`)?.body as { orders: OrderJson[] };
  return all.flatMap(({ tasks }) => tasks.map(({ until }) => until)).find((until) => until !== undefined);
}

/** One round of the victim, from its snapshot. @returns everything that must not have happened */
async function attack(respond: (request: RelayedRequest) => RelayedResponse): Promise<string[]> {
  victim.restore(snapshot);
  const { exchanges } = server.relay;
  exchanges.length = 0;
  server.relay.tamper({ respond });
  const found: string[] = [];
  try {
    await victim.once();
  } catch (error) {
    if (!(error instanceof Unreachable || error instanceof Refusal))
      found.push(`it failed: ${(error as Error).stack}`);
  }
  return [...found, ...wrongFiles(), ...wrongKeys(), ...leaks(exchanges)];
}

function wrongFiles(): string[] {
  const found: string[] = [];
  for (const folder of readdirSync(path.join(victim.state, 'orders'))) {
    const name = Object.values(orders).find((each) => orderFolder(each) === folder);
    if (name === undefined) {
      found.push(`there is a folder ${folder}`);
      continue;
    }
    const installed = victim.installed(name);
    if (installed === undefined) continue;
    if (!issued.get(name)?.includes(installed.sha256)) found.push(`${name} has another certificate`);
    if (!installed.leaf.checkPrivateKey(installed.privateKey)) found.push(`${name} has another key`);
  }
  if (victim.installed(orders.renewed) === undefined) found.push('an installed certificate is gone');
  if (victim.outsideOfState().join() !== 'agent.toml')
    found.push(`other files: ${victim.outsideOfState().join()}`);
  if (existsSync('/tmp/certwright-falsified')) found.push('a file outside of its folders');
  return found;
}

/** Every key was made by a member for the order that it is stored for. */
function wrongKeys(): string[] {
  const made = new Map(maker.keys().map((each) => [each.spkiSha256, each]));
  return victim.keys().flatMap(({ spkiSha256, order: name, pkcs8, csr }) => {
    if (csr !== null) {
      const reading = readCsr(csr.der);
      const names = reading.ok ? (reading.csr.subjectAlternativeNames?.dnsNames ?? []) : ['?'];
      return names.every((each) => each.endsWith('.example.com')) ? [] : [`a CSR for ${names.join()}`];
    }
    const original = made.get(spkiSha256);
    const isSame = original !== undefined && Buffer.from(original.pkcs8!).equals(Buffer.from(pkcs8!));
    return isSame && original.order === name ? [] : [`a key of another order or of no member for ${name}`];
  });
}

/** Private keys in any form, and sealed keys that another one than a member can open. */
function leaks(exchanges: readonly Exchange[]): string[] {
  const members = new Map([maker, late].map((host) => [host.identity().agentId, host.identity().sealingKey]));
  const found: string[] = [];
  const sent = exchanges
    .map(
      ({ request }) =>
        `${request.path} ${JSON.stringify(request.headers)} ${request.body.toString('latin1')}`,
    )
    .join('\n');
  for (const secret of victim.keys().flatMap(({ pkcs8 }) => secretsOf(Buffer.from(pkcs8!))))
    for (const form of ['base64', 'base64url', 'hex', 'latin1'] as const)
      // Without the ends, whose characters depend on what is around them.
      if (sent.includes(secret.toString(form).slice(4, -4))) found.push(`a private key in ${form}`);
  for (const { request } of exchanges) {
    const [, name, what, spki] =
      /\/orders\/([^/]+)\/(csr|keys)(?:\/([0-9a-f]{64}))?$/.exec(request.path) ?? [];
    if (request.method !== 'POST' || name === undefined) continue;
    const { keys, csr } = JSON.parse(request.body.toString()) as { keys: SealedKey[]; csr?: string };
    const spkiSha256 = what === 'keys' ? spki! : spkiOfCsr(csr!);
    const { agentId: senderId, identityKey } = victim.identity();
    for (const sealed of keys) {
      const sealingPrivateKey = members.get(sealed.receiver);
      const binding = {
        cluster,
        order: decodeURIComponent(name),
        spkiSha256,
        sender: senderId,
        receiver: sealed.receiver,
      };
      try {
        if (sealingPrivateKey === undefined) throw new Error('it is not a member');
        openKey(sealed, binding, { sealingPrivateKey, senderIdentityKey: rawPublicKey(identityKey) });
      } catch (error) {
        found.push(`a key for ${sealed.receiver}: ${(error as Error).message}`);
      }
    }
  }
  return found;
}

/** The encoding, and the private number alone. */
function secretsOf(pkcs8: Buffer): Buffer[] {
  const { d = '' } = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' });
  return [pkcs8, Buffer.from(d, 'base64url')];
}

function spkiOfCsr(csr: string): string {
  const reading = readCsr(Buffer.from(csr, 'base64'));
  return reading.ok ? reading.csr.spkiSha256 : '';
}

it('installs, makes and seals everything when nothing is falsified', async () => {
  expect(await attack(replay(undefined))).toEqual([]);
  for (const name of [orders.fresh, orders.renewed])
    expect(victim.installed(name)?.sha256).toBe(issued.get(name)?.at(-1));
  const csrs = requestsTo(/\/csr$/, 'POST').map(
    ({ request }) => JSON.parse(request.body.toString()) as { keys: SealedKey[] },
  );
  expect(csrs).toHaveLength(1);
  expect(csrs[0]?.keys.map(({ receiver }) => receiver).sort()).toEqual(
    [maker, late].map((host) => host.identity().agentId).sort(),
  );
  expect(requestsTo(/\/keys\/[0-9a-f]{64}$/, 'POST').length).toBeGreaterThan(0);
});

it('installs nothing wrong and reveals no key, whichever field of a response is falsified', async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const [call, { body }] of recorded) {
    for (const { what, body: falsified } of body === undefined ? [] : falsifications(body)) {
      count++;
      const response = { body: Buffer.from(falsified === undefined ? '' : JSON.stringify(falsified)) };
      const found = await attack(replay({ call, response }));
      wrong.push(...found.map((each) => `${call}: ${what}: ${each}`));
    }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(200);
});

it.each<[string, (body: Buffer) => Partial<RelayedResponse>]>([
  ['a redirect', () => ({ status: 302, headers: { location: 'https://127.0.0.1:1/' } })],
  ['an error', () => ({ status: 500 })],
  ['a refusal', () => ({ status: 401, body: Buffer.from('{"code":"clock_skew","message":"x"}') })],
  ['nothing', () => ({ status: 204 })],
  ['HTML', () => ({ body: Buffer.from('<html>') })],
  ['two bodies', (body) => ({ body: Buffer.concat([body, body]) })],
  ['half a body', (body) => ({ body: body.subarray(0, body.length / 2) })],
  ['more than a MiB', (body) => ({ body: Buffer.concat([body, Buffer.alloc(2 ** 20, ' ')]) })],
  [
    'repeated members',
    (body) => ({ body: Buffer.from(body.toString().replace(/^\{/, '{"version":1,"keys":[],"leaf":"",')) }),
  ],
  ['a time in the past', (body) => ({ body, headers: { date: new Date(0).toUTCString() } })],
  ['a time in the future', (body) => ({ body, headers: { date: 'Fri, 31 Dec 2999 00:00:00 GMT' } })],
])('installs nothing wrong and reveals no key when a response is %s', async (what, change) => {
  const wrong: string[] = [];
  for (const [call, { body }] of recorded) {
    const honest = replay(undefined)({
      method: call.split(' ')[0]!,
      path: call.split(' ')[1]!,
      headers: {},
      body: Buffer.alloc(0),
    });
    const response = change(body === undefined ? Buffer.alloc(0) : honest.body);
    wrong.push(...(await attack(replay({ call, response }))).map((each) => `${call}: ${what}: ${each}`));
  }
  expect(wrong).toEqual([]);
});

it('installs nothing wrong when two messages of one kind are exchanged', async () => {
  const wrong: string[] = [];
  for (const [call, { status }] of recorded)
    for (const [other, { body, status: otherStatus }] of recorded) {
      if (call === other || body === undefined) continue;
      const response = {
        status: otherStatus === 204 ? status : otherStatus,
        body: Buffer.from(JSON.stringify(body)),
      };
      wrong.push(
        ...(await attack(replay({ call, response }))).map((each) => `${other} for ${call}: ${each}`),
      );
    }
  expect(wrong).toEqual([]);
});

import { createHash, createPrivateKey } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  agentId,
  clusterKeyFromSeed,
  encodeBase64url,
  newIdentityKey,
  openKey,
  orderFolder,
  parseJoinString,
  rawPublicKey,
  type SealedKey,
  signRequest,
  signStatement,
} from '@certwright/agent-contract';
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
/** Requests that the server accepted: one of each kind. */
let sent: readonly Exchange[];
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
  await eventually(() => expect(requestsTo(/\/reports$/, 'POST').length).toBeGreaterThan(0), { withinMs });
  await victim.stop();
  recorded = composed(server.relay.exchanges);
  sent = oneOfEachKind(server.relay.exchanges);
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

function oneOfEachKind(exchanges: readonly Exchange[]): Exchange[] {
  const kinds = new Map<string, Exchange>();
  for (const exchange of exchanges) {
    const { request, response } = exchange;
    const kind = request.path.replace(/\?.*|[0-9a-f]{64}|orders\/[^/]+/g, '');
    if (response.status < 300) kinds.set(`${request.method} ${kind}`, exchange);
  }
  return [...kinds.values()];
}

const inAnHour = new Date(Date.now() + 3_600_000).toISOString();

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
        const tasks = [...each.tasks, ...(known.get(each.name)?.tasks ?? [])]
          .filter(({ type }, index, all) => all.findIndex((other) => other.type === type) === index)
          // Longer than these specs take.
          .map((task) => ('until' in task ? { ...task, until: inAnHour } : task));
        known.set(each.name, { ...each, tasks });
      }
      const all = [...known.values()].sort((a, b) => a.version - b.version);
      result.set(`GET ${where}`, { status: 200, body: { ...state, orders: all } });
    }
  }
  return result;
}

/** Responds as recorded, with the given replacement. */
function replay(
  replaced: { readonly call: string; readonly response: Partial<RelayedResponse> } | undefined,
) {
  let states = 0;
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
    if (found !== undefined) return { status: found.status, headers, body: bytesOf(found.body) };
    // Sealed keys and CSRs for falsified names: a malicious server accepts everything.
    const isPost = request.method === 'POST';
    if (isPost && request.path.endsWith('/csr'))
      return { status: 200, headers, body: Buffer.from('{"revision":9}') };
    if (isPost) return { status: 204, headers, body: Buffer.alloc(0) };
    return { status: 404, headers, body: Buffer.from('{"code":"not_found","message":"not found"}') };
  };
}

const maxStates = 20;

const bytesOf = (body: unknown) => Buffer.from(body === undefined ? '' : JSON.stringify(body));

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

describe('a proxy that changes requests', () => {
  /** What requests of agents can change. Times of contact and turns of roll-outs change by themselves. */
  async function stored(): Promise<unknown> {
    return await server.api.database.query(
      `SELECT (SELECT jsonb_agg(to_jsonb(agent) - '{last_seen_at,clock_offset_s}'::text[] ORDER BY id) FROM agent) AS agents,
         (SELECT jsonb_agg(jsonb_build_array(id, used) ORDER BY id) FROM cluster_enrolment) AS enrolments,
         (SELECT jsonb_agg(jsonb_build_array(name, order_v3.cluster, revision, terms_id) ORDER BY name)
          FROM order_v3 JOIN plan ON plan.id = plan_id) AS orders,
         (SELECT jsonb_agg(jsonb_build_array(spki_sha256, made_by) ORDER BY spki_sha256) FROM managed_key) AS keys,
         (SELECT jsonb_agg(to_jsonb(sealed_key) ORDER BY spki_sha256, receiver) FROM sealed_key) AS sealed,
         (SELECT jsonb_agg(to_jsonb(installation) ORDER BY plan_id, agent_id, point) FROM installation) AS installations,
         (SELECT count(*) FROM issuance) AS issuances`,
    );
  }

  function changed(request: RelayedRequest): { what: string; request: RelayedRequest }[] {
    const { method, path: where, headers, body } = request;
    const [bare = '', query] = where.split('?');
    const other = bare.includes(orders.held) ? orders.renewed : orders.held;
    const paths = [
      `${bare}?${query === undefined ? 'x=y' : query.replace(/after=\d+/, 'after=1')}`,
      bare.replace(/orders\/[^/]+/, `orders/${other}`),
      bare.replace(/[0-9a-f]{64}/, (hash) => hash.split('').reverse().join('')),
      `${where}${where.includes('?') ? '&' : '?'}`,
    ].filter((each) => each !== where && !(each === bare && query === undefined) && each !== `${where}?`);
    const text = body.toString();
    const bodies =
      body.length === 0
        ? []
        : [
            ...falsifications(JSON.parse(text)).map(({ what, body: each }) => ({
              what,
              body: bytesOf(each),
            })),
            { what: 'white space', body: Buffer.from(`${text} `) },
          ];
    const created = String(headers['signature-input']).replace(
      /created=(\d+)/,
      (_, at) => `created=${Number(at) + 1}`,
    );
    const otherAgent = String(headers['signature-input']).replace(
      /keyid="[^"]*"/,
      `keyid="${maker.identity().agentId}"`,
    );
    return [
      ...paths.map((each) => ({ what: each, request: { ...request, path: each } })),
      ...bodies.map(({ what, body: each }) => ({ what, request: { ...request, body: each } })),
      ...bodies.map(({ what, body: each }) => {
        const digest = `sha-256=:${createHash('sha256').update(each).digest('base64')}:`;
        return {
          what: `${what}, with its digest`,
          request: { ...request, body: each, headers: { ...headers, 'content-digest': digest } },
        };
      }),
      ...['content-digest', 'signature-input', 'signature'].map((name) => ({
        what: `without ${name}`,
        request: { ...request, headers: { ...headers, [name]: undefined } },
      })),
      ...[created, otherAgent].map((each) => ({
        what: each,
        request: { ...request, headers: { ...headers, 'signature-input': each } },
      })),
      { what: 'method', request: { ...request, method: method === 'GET' ? 'POST' : 'GET' } },
      {
        what: 'an API key',
        request: { ...request, headers: { ...headers, authorization: `Bearer ${server.tenant.apiKey}` } },
      },
    ];
  }

  it('gets no request accepted, and changes nothing', async () => {
    expect(sent.map(({ request }) => request.method)).toHaveLength(8);
    const before = await stored();
    const accepted: string[] = [];
    let count = 0;
    for (const { request } of sent)
      for (const { what, request: falsified } of changed(request)) {
        count++;
        const { status } = await server.relay.forward(falsified);
        if (status < 400 || status === 429 || status >= 500)
          accepted.push(`${request.method} ${request.path}: ${what}: ${status}`);
      }
    expect(accepted).toEqual([]);
    expect(count).toBeGreaterThan(100);
    expect(await stored()).toEqual(before);
  });

  it('gets the same responses when it repeats requests, and changes nothing', async () => {
    const before = await stored();
    for (const { request, response } of sent) {
      const repeated = await server.relay.forward({
        ...request,
        path: request.path.replace(/wait=\d+/, 'wait=0'),
      });
      // The query of a state is signed: only one that did not wait can be repeated here.
      if (!request.path.includes('wait='))
        expect([request.path, repeated.status]).toEqual([request.path, response.status]);
      if (/enrol|csr|certificates/.test(request.path))
        expect(repeated.body.toString()).toBe(response.body.toString());
    }
    expect(await stored()).toEqual(before);
  });

  it('cannot enrol an agent of its own with a token that it saw', async () => {
    const join = await (await server.cluster('stolen'))();
    const { token } = parseJoinString(join);
    const real = sent.find(({ request }) => request.path.endsWith('/enrol'))!;
    const identity = newIdentityKey();
    const identityKey = encodeBase64url(rawPublicKey(identity));
    const seen = { ...(JSON.parse(real.request.body.toString()) as Json), token };
    const own = clusterKeyFromSeed(Buffer.alloc(32, 1));
    const statement = signStatement(own, {
      identityKey: rawPublicKey(identity),
      sealingKey: Buffer.alloc(32, 9),
      time: new Date(),
    });
    const before = await stored();
    for (const forged of [
      seen,
      { ...seen, statement: null },
      { ...seen, statement, sealing_key: encodeBase64url(Buffer.alloc(32, 9)) },
    ]) {
      const body = Buffer.from(JSON.stringify({ ...forged, identity_key: identityKey }));
      const signature = signRequest(
        { method: 'POST', path: `${base}/enrol`, query: '', body },
        { agentId: agentId(rawPublicKey(identity)), privateKey: identity, now: new Date() },
      );
      const headers = { ...signature, 'content-type': 'application/json' };
      const { status } = await server.relay.forward({ method: 'POST', path: `${base}/enrol`, headers, body });
      expect(status).toBe(400);
    }
    expect(await stored()).toEqual(before);
  });

  it('cannot make a host trust another cluster key at enrolment', async () => {
    const join = await server.cluster('enrolling');
    const honest = { agent_id: 'A'.repeat(22), cluster: { name: 'enrolling', cluster_key: 'A'.repeat(43) } };
    for (const { what } of falsifications(honest)) {
      const host = new AgentHost(server.relay, []);
      try {
        const text = await join();
        server.relay.tamper({
          response: (response) => ({
            ...response,
            body: bytesOf(
              falsifications(JSON.parse(response.body.toString())).find((each) => each.what === what)?.body,
            ),
          }),
        });
        await host.enrol(text).catch(() => undefined);
        const { clusterKey, cluster: joined } = host.identity();
        const expected = clusterKeyFromSeed(parseJoinString(text).clusterKeySeed!).publicKey;
        expect([what, joined === null || Buffer.from(expected).equals(Buffer.from(clusterKey!))]).toEqual([
          what,
          true,
        ]);
        if (/agent_id|cluster_key/.test(what)) expect([what, joined]).toEqual([what, null]);
      } finally {
        server.relay.tamper({});
        host.dispose();
      }
    }
  });
});

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
      const response = { body: bytesOf(falsified) };
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
  ['two bodies', (body) => ({ body: Buffer.concat([body, body]) })],
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
    const response = change(bytesOf(body));
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
        body: bytesOf(body),
      };
      wrong.push(
        ...(await attack(replay({ call, response }))).map((each) => `${other} for ${call}: ${each}`),
      );
    }
  expect(wrong).toEqual([]);
});

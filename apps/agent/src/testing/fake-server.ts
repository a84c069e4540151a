import {
  createServer as createPlain,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  agentBasePath,
  agentId,
  type CsrRequest,
  decodeFixed,
  ed25519PublicKey,
  encodeBase64url,
  type EnrolRequest,
  type KeysMessage,
  type MemberMessage,
  type OrderMessage,
  type ReportRequest,
  type SealedKey,
  verifyRequest,
  verifyStatement,
} from '@certwright/agent-contract';
import { readCsr } from '@certwright/pki';
import { type Issued, TestCa, testKey } from './test-ca';

export interface FakeOrder {
  readonly name: string;
  readonly dnsNames: readonly string[];
  readonly keyType: 'rsa' | 'ecdsa';
  version: number;
  revision: number;
  task: string | null;
  csrSpkiSha256: string | null;
  issued: Issued | null;
  install: 'go' | 'hold';
  sealFor: { readonly spki_sha256: string; readonly members: readonly string[] } | null;
}

export type Falsify = (
  path: string,
  status: number,
  body: unknown,
) => { status?: number; body?: unknown; raw?: Buffer; headers?: Record<string, string> } | undefined;

/** The server's side of docs/agent-protocol.md for one cluster, in memory, over HTTP or TLS on loopback. */
export class FakeServer {
  readonly ca = new TestCa();
  readonly tokens = new Map<string, number>();
  readonly members = new Map<string, MemberMessage>();
  readonly orders = new Map<string, FakeOrder>();
  readonly released: string[] = [];
  readonly reports: ReportRequest[] = [];
  readonly csrs: { readonly task: string; readonly csr: string }[] = [];
  readonly sealed = new Map<string, SealedKey[]>();
  readonly requests: { readonly method: string; readonly path: string; readonly body: string }[] = [];
  /** Added to the clock of the server. */
  clockOffsetMs = 0;
  version = 1;
  membersVersion = 1;
  clusterKey: Uint8Array | null = null;
  falsify: Falsify = () => undefined;
  /** Not reachable: connections are closed at once. */
  isDown = false;
  readonly cluster = 'web';
  private server: Server | undefined;
  /** By agent. */
  private readonly waiting = new Map<string, () => void>();
  private tasks = 0;

  get url(): string {
    const { port } = this.server?.address() as AddressInfo;
    return `${this.isSecure ? 'https' : 'http'}://127.0.0.1:${port}`;
  }

  private constructor(private readonly isSecure: boolean) {}

  static async start({ isSecure = false } = {}): Promise<FakeServer> {
    const fake = new FakeServer(isSecure);
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void fake.serve(request, response);
    if (isSecure) {
      const key = testKey();
      const issued = fake.ca.issue(key.spki, [], { addresses: [[127, 0, 0, 1]] });
      const pem = (der: string) => `-----BEGIN CERTIFICATE-----\n${der}\n-----END CERTIFICATE-----\n`;
      fake.server = createSecure(
        {
          key: key.privateKey.export({ format: 'pem', type: 'pkcs8' }),
          cert: [issued.message.leaf, ...issued.message.chain].map(pem).join(''),
        },
        listener,
      );
    } else fake.server = createPlain(listener);
    await new Promise<void>((resolve) => fake.server?.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  async stop(): Promise<void> {
    this.wake();
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  addOrder(
    name: string,
    { dnsNames = [name], keyType = 'ecdsa' as 'rsa' | 'ecdsa', isAsked = true } = {},
  ): FakeOrder {
    const order: FakeOrder = {
      name,
      dnsNames,
      keyType,
      version: ++this.version,
      revision: 1,
      task: isAsked ? String(++this.tasks) : null,
      csrSpkiSha256: null,
      issued: null,
      install: 'go',
      sealFor: null,
    };
    this.orders.set(name, order);
    this.wake();
    return order;
  }

  /** A renewal: a new key is requested. */
  ask(order: FakeOrder): void {
    order.task = String(++this.tasks);
    this.touch(order);
  }

  touch(order: FakeOrder): void {
    order.version = ++this.version;
    this.wake();
  }

  release(order: FakeOrder): void {
    this.orders.delete(order.name);
    this.released.push(order.name);
    this.version++;
    this.wake();
  }

  lastReport(order: string, point?: string) {
    for (const report of [...this.reports].reverse()) {
      const found = report.installations.find(
        (each) => each.order === order && (point === undefined || each.point === point),
      );
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** A change of the cluster that no agent sees: requests that wait end with a response without orders. */
  changeNothingSeen(): void {
    this.version++;
    this.wake();
  }

  /** Ends requests that wait, before their time. */
  interrupt(): void {
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting.values()) resolve();
    this.waiting.clear();
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isDown) return void request.socket.destroy();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const [path = '', search] = (request.url ?? '').split('?');
    const query = search === undefined ? '' : `?${search}`;
    const method = request.method ?? '';
    this.requests.push({ method, path, body: body.toString() });
    const [status, json] = await this.respond(method, path, query, body, request).catch(
      (error: unknown) => [500, { code: 'internal', message: String(error) }] as const,
    );
    const changed = this.falsify(path, status, json);
    const date = new Date(Date.now() + this.clockOffsetMs).toUTCString();
    const payload =
      changed?.raw ??
      (changed?.body === undefined && json === null ? '' : JSON.stringify(changed?.body ?? json));
    response.writeHead(changed?.status ?? status, {
      date,
      'content-type': 'application/json',
      ...changed?.headers,
    });
    response.end(payload);
  }

  private async respond(
    method: string,
    path: string,
    query: string,
    body: Buffer,
    { headers }: IncomingMessage,
  ): Promise<readonly [number, unknown]> {
    const json = (body.length === 0 ? null : JSON.parse(body.toString())) as never;
    const isEnrol = path === `${agentBasePath}/enrol`;
    const keyOf = (id: string) => {
      const raw = isEnrol ? (json as EnrolRequest).identity_key : this.members.get(id)?.identity_key;
      return raw === undefined ? null : ed25519PublicKey(decodeFixed(raw, 'identity_key', 32));
    };
    const now = new Date(Date.now() + this.clockOffsetMs);
    const verdict = await verifyRequest({ method, path, query, body }, headers, { now, keyOf });
    if (!verdict.ok)
      return [
        401,
        { code: verdict.fault === 'clock_skew' ? 'clock_skew' : 'unauthorized', message: verdict.fault },
      ];
    if (isEnrol) return this.enrol(json);
    const [, call = '', name = '', what = '', spki = ''] =
      new RegExp(`^${agentBasePath}/(\\w+)(?:/([^/]+))?(?:/([^/]+))?(?:/([^/]+))?$`).exec(path) ?? [];
    if (call === 'state') return await this.state(query, verdict.agentId);
    if (call === 'members')
      return [200, { version: this.membersVersion, members: [...this.members.values()] }];
    if (call === 'certificates') {
      const found = [...this.orders.values()].find(({ issued }) => issued?.sha256 === name);
      return found?.issued === null || found === undefined ? notFound : [200, found.issued.message];
    }
    if (call === 'reports') {
      this.reports.push(json);
      return [204, null];
    }
    const order = this.orders.get(decodeURIComponent(name));
    if (order === undefined) return notFound;
    if (what === 'csr') return this.csr(order, json, verdict.agentId);
    if (method === 'GET')
      return [
        200,
        { keys: (this.sealed.get(spki) ?? []).filter(({ receiver }) => receiver === verdict.agentId) },
      ];
    this.addSealed(spki, (json as KeysMessage).keys);
    order.sealFor = null;
    this.touch(order);
    return [204, null];
  }

  private enrol(request: EnrolRequest): readonly [number, unknown] {
    const id = agentId(decodeFixed(request.identity_key, 'identity_key', 32));
    const isKnown = this.members.has(id);
    const uses = this.tokens.get(request.token) ?? 0;
    if (!isKnown && uses === 0) return [401, { code: 'unauthorized', message: 'the token is unknown' }];
    if (this.clusterKey !== null) verifyStatement(request.statement ?? '', this.clusterKey);
    if (!isKnown) {
      this.tokens.set(request.token, uses - 1);
      const { identity_key, sealing_key, statement, name } = request;
      this.members.set(id, { agent_id: id, name, identity_key, sealing_key, statement });
      this.membersVersion++;
    }
    const cluster_key = this.clusterKey === null ? null : encodeBase64url(this.clusterKey);
    return [200, { agent_id: id, cluster: { name: this.cluster, cluster_key } }];
  }

  private async state(query: string, agent: string): Promise<readonly [number, unknown]> {
    const parameters = new URLSearchParams(query);
    const after = Number(parameters.get('after'));
    if (this.version <= after && Number(parameters.get('wait')) > 0) {
      // An agent waits once: its earlier request ends.
      this.waiting.get(agent)?.();
      await new Promise<void>((resolve) => this.waiting.set(agent, resolve));
    }
    if (this.version <= after) return [204, null];
    const orders = [...this.orders.values()]
      .filter(({ version }) => version > after)
      .sort((a, b) => a.version - b.version)
      .map((order) => this.message(order, agent));
    const cluster_key = this.clusterKey === null ? null : encodeBase64url(this.clusterKey);
    return [
      200,
      {
        version: this.version,
        more: false,
        cluster: { name: this.cluster, cluster_key },
        members_version: this.membersVersion,
        orders,
        released: after === 0 ? [] : this.released,
      },
    ];
  }

  private message(order: FakeOrder, agent: string): OrderMessage {
    const { issued, task, sealFor } = order;
    const first = [...this.members.keys()][0];
    return {
      name: order.name,
      version: order.version,
      revision: order.revision,
      dns_names: order.dnsNames,
      key_type: order.keyType,
      accepts: { rsa: [2048, 3072, 4096], ecdsa: ['P-256', 'P-384'] },
      paused: false,
      csr_spki_sha256: order.csrSpkiSha256,
      certificate:
        issued === null
          ? null
          : {
              sha256: issued.sha256,
              spki_sha256: issued.spkiSha256,
              not_before: issued.notBefore.toISOString(),
              not_after: issued.notAfter.toISOString(),
            },
      install: order.install,
      tasks: [
        ...(task !== null && agent === first
          ? [
              {
                type: 'make_key' as const,
                id: task,
                until: new Date(Date.now() + this.clockOffsetMs + 60_000).toISOString(),
              },
            ]
          : []),
        ...(sealFor === null ? [] : [{ type: 'seal_key_for' as const, ...sealFor }]),
      ],
    };
  }

  private csr(order: FakeOrder, { task, csr, keys }: CsrRequest, sender: string): readonly [number, unknown] {
    const isRepeated = this.csrs.some((each) => each.task === task && each.csr === csr);
    if (isRepeated) return [200, { revision: order.revision }];
    if (task !== order.task) return [409, { code: 'not_asked', message: 'another task' }];
    const others = [...this.members.keys()].filter((id) => id !== sender);
    if (
      keys
        .map(({ receiver }) => receiver)
        .sort()
        .join() !== others.sort().join()
    )
      return [409, { code: 'members_changed', message: 'other members' }];
    const reading = readCsr(Buffer.from(csr, 'base64'));
    if (!reading.ok) return [400, { code: 'bad_request', message: 'the CSR is invalid' }];
    this.csrs.push({ task, csr });
    order.task = null;
    order.revision++;
    order.csrSpkiSha256 = reading.csr.spkiSha256;
    this.addSealed(reading.csr.spkiSha256, keys);
    order.issued = this.ca.issue(reading.csr.spkiDer, order.dnsNames);
    this.touch(order);
    return [200, { revision: order.revision }];
  }

  private addSealed(spki: string, keys: readonly SealedKey[]): void {
    this.sealed.set(spki, [...(this.sealed.get(spki) ?? []), ...keys]);
  }
}

const notFound = [404, { code: 'not_found', message: 'not found' }] as const;

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { DnsServer, type RecordSource, type ZoneRecord } from '@certwright/dns-authority';
import type { NameApproval } from '@certwright/issuance';
import { AcmeOrders } from '../certificate-authorities/acme/acme-orders';
import { Attachments, LeasedIssuances, WaitingIssuances } from '@certwright/ordering';
import { CaAccounts } from '../certificate-authorities/ca-accounts';
import { CaLimitBuckets } from '../ca-limits/ca-limit-buckets';
import { CertificateAuthorities } from '../certificate-authorities/certificate-authorities';
import { Challenges } from '@certwright/approvals';
import { Transactions } from '@certwright/core-schema';
import { decodePem } from '@certwright/pki';
import { SealingKeys } from '@certwright/sealing';
import type { DataSource } from 'typeorm';
import { type AcmeExchange, defaultRepeats, type RepeatOptions } from '../acme';
import {
  type PebbleOptions,
  type PebbleRelease,
  type RunningPebble,
  startPebble,
} from '../acme/testing/pebble';
import type { Approver } from '../approvals/approver';
import { AcmeAccounts } from '../certificate-authorities/acme/acme-accounts';
import { AcmeAuthority, type AcmePorts } from '../certificate-authorities/acme/acme-authority';
import { AcmeServers } from '../certificate-authorities/acme/acme-servers';
import { AuthoritiesInOrder } from '../certificate-authorities/authorities-in-order';
import { AuthorityHealth } from '../certificate-authorities/health/authority-health';
import { healthPace, type HealthPace } from '../certificate-authorities/health/pace';
import { WatchAuthorities } from '../certificate-authorities/health/watch-authorities';
import { StoredChallenges } from '../challenges/stored-challenges';
import { ValuesSeen } from '../challenges/values-seen';
import { DnsClient } from '@certwright/dns-lookup';
import { AdvanceIssuance } from '../issuance/advance-issuance';
import { preflight } from '../preflight/preflight';
import { Issuing } from './issuing';
import { openIssuance, type OpenedIssuance } from './opened-issuance';

export const approvalZone = 'approval.test';

/** Options of a test's CA. */
export interface StoredAuthority {
  readonly name: string;
  readonly directoryUrl: string;
  readonly tlsRoots: string | null;
  readonly trustedRoots: readonly Buffer[];
  readonly externalAccount?: { readonly keyId: string; readonly key: string } | null;
  readonly preferredRoot?: string;
  readonly limits?: object;
}

export interface IssuedState {
  readonly state: string;
  readonly failures: number;
  readonly last_error: { readonly code: string; readonly message: string } | null;
  readonly ca_reference: string | null;
  readonly waits_s: number;
}

/** Real PostgreSQL, real DNS for the worker's records, and the worker's flow over ACME CAs. */
export class AcmeIssuing {
  readonly sealing = new SealingKeys([Buffer.alloc(32, 7)]);
  readonly servers: AcmeServers;
  /** Exchanges of the worker that was made last. */
  private health: AuthorityHealth | null = null;
  /** CA events of a worker, in order. */
  readonly noticed: string[] = [];
  /** The method by which every name is approved. */
  methods: (dnsName: string) => NonNullable<NameApproval['method']> = () => 'dns';
  /** Whether names are approved. */
  approves: (dnsName: string) => boolean = () => true;
  /** Names whose values only our own check finds. */
  readonly hidden = new Set<string>();
  /** Our name servers return no values. */
  silent = false;
  /** How far the worker's clock is ahead of the database's. */
  clockAheadMs = 0;
  readonly unexpectedErrors: unknown[] = [];
  readonly alarms: string[] = [];
  private readonly closing: (() => Promise<unknown> | void)[] = [];
  private nextCertificateId = 1;

  private constructor(
    readonly issuing: Issuing,
    readonly dns: { readonly server: DnsServer; readonly address: string; readonly client: DnsClient },
    private readonly looks: Looks,
    private readonly pace: HealthPace,
    responseMs: number,
    private readonly repeats: RepeatOptions,
  ) {
    const observerOf = (authority: string) => (exchange: AcmeExchange) =>
      this.health?.observe(authority, exchange);
    const now = () => new Date(Date.now() + this.clockAheadMs);
    this.servers = new AcmeServers('certwright-spec', observerOf, responseMs, 16, now, repeats);
    looks.isThere = (place, dnsName) => !this.silent && (place === 'target' || !this.hidden.has(dnsName));
  }

  /** @param responseMs response timeout of a CA */
  static async open({
    pace = healthPace,
    responseMs = 10_000,
    repeats = briefRepeats,
  } = {}): Promise<AcmeIssuing> {
    const issuing = await Issuing.open();
    // Any approval method may be used before a CA is contacted.
    await issuing.database.query(`UPDATE product SET email_approval = true WHERE name = 'free_ca'`);
    const looks: Looks = { isThere: () => true, standing: new Map() };
    const server = new DnsServer({ host: '127.0.0.1', port: 0, source: published(issuing.database, looks) });
    const { host, port } = await server.listen();
    const client = new DnsClient({ server: { host, port }, timeoutMs: 10_000 });
    return new AcmeIssuing(
      issuing,
      { server, address: `${host}:${port}`, client },
      looks,
      pace,
      responseMs,
      repeats,
    );
  }

  async close(): Promise<void> {
    for (const step of this.closing.splice(0).reverse()) await step();
    await this.servers.close();
    this.dns.client.close();
    await this.dns.server.close();
    await this.issuing.close();
  }

  /** TXT values at a name, from any source. */
  publishText(name: string, text: string): void {
    this.looks.standing.set(name, text);
  }

  get database(): DataSource {
    return this.issuing.database;
  }

  get asWorker(): DataSource {
    return this.issuing.asWorker;
  }

  get databaseUrl(): string {
    return this.issuing.databaseUrl;
  }

  /** A pebble that validates against the worker's records, and its row. */
  async pebble(
    name: string,
    options: PebbleOptions = {},
    also: Partial<StoredAuthority> = {},
    release?: PebbleRelease,
  ): Promise<RunningPebble> {
    const pebble = await startPebble({ resolver: this.dns.address, ...options }, release);
    this.closing.push(pebble.stop);
    const trustedRoots = [await rootOf(pebble, 0)];
    const { directoryUrl, tlsRoot: tlsRoots, externalAccount } = pebble;
    await this.authority({ name, directoryUrl, tlsRoots, trustedRoots, externalAccount, ...also });
    return pebble;
  }

  async root(pebble: RunningPebble, index: number): Promise<Buffer> {
    return await rootOf(pebble, index);
  }

  /** CRLReason that pebble lists for the certificate; null: it is not revoked. */
  async revocationReason(pebble: RunningPebble, serialNumber: string): Promise<number | null> {
    const status = JSON.parse(await managed(pebble, `cert-status-by-serial/${serialNumber}`)) as {
      readonly Status: string;
      readonly Reason?: number;
    };
    return status.Status === 'Revoked' ? (status.Reason ?? 0) : null;
  }

  async authority(row: StoredAuthority): Promise<void> {
    const { externalAccount = null } = row;
    const sealed =
      externalAccount === null
        ? null
        : this.sealing.seal(externalAccount.key, `ca-eab:${row.name}`, randomBytes(12));
    await this.database.query(
      `INSERT INTO certificate_authority
         (name, directory_url, tls_roots, trusted_roots, eab_key_id, eab_hmac_sealed, preferred_root, limits)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        row.name,
        row.directoryUrl,
        row.tlsRoots,
        row.trustedRoots,
        externalAccount?.keyId ?? null,
        sealed,
        row.preferredRoot ?? null,
        JSON.stringify(row.limits ?? {}),
      ],
    );
  }

  /** The CAs of the product that every order of a test uses, in order. */
  async authoritiesAre(
    ...authorities: readonly (string | { name: string; profile: string })[]
  ): Promise<void> {
    const listed = authorities.map((each) =>
      typeof each === 'string' ? { name: each, profile: null } : each,
    );
    await this.database.query(`UPDATE product SET authorities = $1 WHERE name = 'free_ca'`, [
      JSON.stringify(listed),
    ]);
  }

  accounts(
    source: DataSource = this.asWorker,
    authorities = new CertificateAuthorities(source),
  ): AcmeAccounts {
    return new AcmeAccounts({
      authorities,
      accounts: new CaAccounts(source),
      servers: this.servers,
      keys: this.sealing,
      events: {
        accountMade: () => undefined,
        accountLost: (authority) => this.alarms.push(`account lost at ${authority}`),
      },
    });
  }

  acme(
    source: DataSource = this.asWorker,
    also: Partial<AcmePorts> = {},
    stored = new CertificateAuthorities(source),
  ): AcmeAuthority {
    this.health = new AuthorityHealth(
      stored,
      {
        down: (authority) => this.noticed.push(`${authority} down`),
        up: (authority) => this.noticed.push(`${authority} up`),
      },
      this.pace,
    );
    const buckets = new CaLimitBuckets(source, new Transactions(source));
    const { lookUp } = this.dns.client;
    const remembered = { changed: async () => await Promise.resolve() };
    return new AcmeAuthority({
      orders: new AcmeOrders(source),
      challenges: new StoredChallenges(
        new Challenges(source),
        remembered,
        new ValuesSeen(approvalZone, () => [lookUp]),
      ),
      persistent: null,
      accounts: this.accounts(source, stored),
      servers: this.servers,
      health: this.health,
      maxSlow: 12,
      repeats: this.repeats,
      buckets,
      preflight: async (question) => await preflight(question, { lookUp, buckets }),
      ...also,
    });
  }

  orderRepository(source: DataSource = this.asWorker): AcmeOrders {
    return new AcmeOrders(source);
  }

  issuers(source: DataSource = this.asWorker, also: Partial<AcmePorts> = {}): AuthoritiesInOrder {
    const stored = new CertificateAuthorities(source);
    const acme = this.acme(source, also, stored);
    return new AuthoritiesInOrder({ builtIn: this.issuing.ca, acme, stored, builtInAlone: false });
  }

  worker(
    source: DataSource = this.asWorker,
    also: Partial<AcmePorts> = {},
    attachments = new Attachments(new Transactions(source)),
  ): AdvanceIssuance {
    return new AdvanceIssuance({
      ...this.issuing.ports(),
      leasedIssuances: new LeasedIssuances(source),
      attachments,
      approvers: (['dns', 'http', 'email'] as const).map((method) => this.approver(method)),
      issuers: this.issuers(source, also),
      events: {
        changed: () => undefined,
        attached: () => undefined,
        failed: ({ id }, { code }, final) => final && this.alarms.push(`${id} ${code}`),
        resting: () => undefined,
        leaseLost: () => undefined,
        unexpectedError: (_, error) => this.unexpectedErrors.push(error),
      },
      certificateId: () => String(this.nextCertificateId++),
    });
  }

  /** Detects when CAs are up again, by attempts of the worker that was made last. */
  watch(worker: AdvanceIssuance): WatchAuthorities {
    if (this.health === null) throw new Error('a worker is made first');
    return new WatchAuthorities({
      health: this.health,
      waiting: new WaitingIssuances(this.asWorker),
      authorities: new CertificateAuthorities(this.asWorker),
      probe: async (authority) => await this.servers.of(authority).probe(),
      now: this.servers.now,
      attempt: async (issuanceId, trial) => await worker.run(issuanceId, trial),
      onError: (_, error) => this.unexpectedErrors.push(error),
    });
  }

  async order(dnsNames: readonly string[], csr: Buffer, accountId?: string): Promise<OpenedIssuance> {
    return await openIssuance(this.issuing.repositories, dnsNames, csr, accountId);
  }

  /** Advances time and runs the worker until the issuance is no longer open or waits for longer than a minute. */
  async advance({ issuanceId }: OpenedIssuance, worker = this.worker()): Promise<IssuedState> {
    for (let turn = 0; turn < 400; turn += 1) {
      await worker.run(issuanceId);
      const state = await this.state(issuanceId);
      if (state.state !== 'open' || state.last_error !== null) return state;
      await delay(10);
      await this.timePasses();
    }
    throw new Error('the issuance did not end');
  }

  /** In one order, since tests advance time for many issuances in parallel. */
  async timePasses(): Promise<void> {
    await this.database.query(
      `UPDATE issuance SET leased_until = NULL, due_at = now()
       WHERE id IN (SELECT id FROM issuance WHERE state = 'open' ORDER BY id FOR UPDATE)`,
    );
  }

  async state(issuanceId: string): Promise<IssuedState> {
    const [row] = await this.database.query<[IssuedState]>(
      `SELECT state, failures, last_error, ca_reference, extract(epoch FROM due_at - now())::int AS waits_s
       FROM issuance WHERE id = $1`,
      [issuanceId],
    );
    return row;
  }

  async certificates({ planId }: Pick<OpenedIssuance, 'planId'>) {
    return await this.database.query<
      { id: string; leaf: Buffer; root: Buffer; chain: Buffer[]; is_current: boolean; ca_reference: string }[]
    >(
      `SELECT certificate.id, leaf, is_current, ca_reference, root, chain
       FROM certificate JOIN certificate_chain ON certificate_chain.sha256 = chain_sha256 WHERE plan_id = $1`,
      [planId],
    );
  }

  async orders({ issuanceId }: OpenedIssuance) {
    return await this.database.query<
      {
        authority: string;
        state: string;
        order_url: string | null;
        finalized_at: Date | null;
        replaces: string | null;
        problem: string | null;
      }[]
    >(
      `SELECT authority, state, order_url, finalized_at, replaces, problem FROM acme_order
       WHERE issuance_id = $1 ORDER BY id`,
      [issuanceId],
    );
  }

  /** Answers http-01 at every name, like web servers with the rule of an account. */
  async serveFiles(port: number): Promise<void> {
    const server = createServer((asked, response) => {
      const token = asked.url?.split('/').at(-1) ?? '';
      void this.database
        .query<{ content: string }[]>(
          `SELECT content FROM challenge_file WHERE token = $1 AND dns_name = split_part($2, ':', 1)`,
          [token, asked.headers.host ?? ''],
        )
        .then(([row]) => response.writeHead(row === undefined ? 404 : 200).end(row?.content ?? ''));
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    this.closing.push(() => void server.close());
  }

  /** Challenge values published at present for these names. */
  async published(...dnsNames: readonly string[]): Promise<number> {
    const [row] = await this.database.query<[{ count: number }]>(
      `SELECT ((SELECT count(*) FROM challenge_record WHERE dns_name = ANY ($1))
         + (SELECT count(*) FROM challenge_file WHERE dns_name = ANY ($1)))::int AS count`,
      [dnsNames],
    );
    return row.count;
  }

  private approver(method: NonNullable<NameApproval['method']>): Approver {
    return {
      method,
      placeOf: ({ dnsName }) => (this.methods(dnsName) === method ? dnsName : null),
      check: async ({ dnsName }) =>
        await Promise.resolve(
          this.approves(dnsName)
            ? { approved: true }
            : { approved: false, problem: { code: 'dns_zone_unknown', dnsName } },
        ),
    };
  }
}

const ttl = 0;

/** As many retries as in production, without their pauses. */
const briefRepeats = { ...defaultRepeats, firstPauseMs: 10 };

interface Looks {
  isThere: (place: 'target' | 'name', dnsName: string) => boolean;
  readonly standing: Map<string, string>;
}

/** Values at targets and at names, as in approval-responder; every other name is this machine. */
function published(database: DataSource, looks: Looks): RecordSource {
  const valuesAt = async (name: string): Promise<readonly string[]> => {
    const text = looks.standing.get(name);
    if (text !== undefined) return [text];
    const place = name.endsWith(`.${approvalZone}`) ? 'target' : 'name';
    const rows = await database.query<{ value: string; dns_name: string }[]>(
      `SELECT value, dns_name FROM challenge_record WHERE label || $2 = $1 OR '_acme-challenge.' || dns_name = $1`,
      [name, `.${approvalZone}`],
    );
    return rows.filter((row) => looks.isThere(place, row.dns_name)).map(({ value }) => value);
  };
  return {
    read: async (asked) => {
      const apex = asked.split('.').slice(-2).join('.') as typeof asked;
      const values = await valuesAt(asked);
      const soa: ZoneRecord = {
        ...{ name: apex, type: 'SOA', ttl },
        data: { mname: apex, rname: apex, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 0 },
      };
      const here: ZoneRecord[] = asked.startsWith('_')
        ? []
        : [{ name: asked, type: 'A', ttl, data: '127.0.0.1' }];
      const texts = values.map((value): ZoneRecord => {
        return { name: asked, type: 'TXT', ttl, data: [Buffer.from(value)] };
      });
      return {
        apex,
        recordsAt: (name) => [
          ...(name === apex ? [soa] : []),
          ...(name === asked ? [...here, ...texts] : []),
        ],
      };
    },
  };
}

/** Response of pebble's management interface. */
async function managed({ managementUrl, tlsRoot }: RunningPebble, path: string): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    const asked = request(`${managementUrl}/${path}`, { ca: tlsRoot }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve(text));
    });
    asked.on('error', reject).end();
  });
}

/** DER. */
async function rootOf(pebble: RunningPebble, index: number): Promise<Buffer> {
  const decoded = decodePem(await managed(pebble, `roots/${index}`), 1);
  const [block] = decoded.ok ? decoded.blocks : [];
  if (block === undefined) throw new Error(`pebble has no root ${index}`);
  return Buffer.from(block.der);
}

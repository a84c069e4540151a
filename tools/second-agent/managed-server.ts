import { execFileSync } from 'node:child_process';
import { randomInt, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { joinString, newClusterKey } from '@certwright/agent-contract';
import { coreDataSource, Transactions } from '@certwright/core-schema';
import { Attachments, LeasedIssuances } from '@certwright/ordering';
import { eventually, Forge, type Forged } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { RunningApi, type Tenant } from '../../apps/orders-v3/src/testing/running-api';
import { falsifyingRelay, type Relay } from './falsifying-relay';

const leaseMs = 15_000;

/** A real orders-v3 behind a relay, one account, and a CA that issues on request. */
export class ManagedServer {
  readonly clusterKeySeeds: Uint8Array[] = [];

  private constructor(
    readonly api: RunningApi,
    readonly tenant: Tenant,
    readonly relay: Relay,
    private readonly database: DataSource,
    private readonly forge: Forge,
    readonly root: Forged,
    readonly intermediate: Forged,
  ) {}

  static async start(): Promise<ManagedServer> {
    const api = await RunningApi.start({ FAILED_AUTHENTICATION_PER_MIN: '100000', LOG_LEVEL: 'debug' });
    const database = coreDataSource({
      url: api.database.url,
      applicationName: 'spec',
      poolSize: 2,
      statementTimeoutMs: 10_000,
    });
    await database.initialize();
    const forge = new Forge();
    const root = forge.make({ isCa: true });
    const intermediate = forge.make({ isCa: true, by: root });
    const [relay, tenant] = await Promise.all([falsifyingRelay(api.url), api.tenant()]);
    return new ManagedServer(api, tenant, relay, database, forge, root, intermediate);
  }

  async stop(): Promise<void> {
    await this.relay.close();
    await this.database.destroy();
    await this.api.stop();
    this.forge.dispose();
  }

  /** A cluster with a new cluster key. @returns makes join strings, each for one host */
  async cluster(name: string): Promise<() => Promise<string>> {
    const clusterKey = newClusterKey();
    this.clusterKeySeeds.push(clusterKey.seed);
    const key = Buffer.from(clusterKey.publicKey).toString('base64url');
    await this.must(201, 'POST', '/clusters', { name, cluster_key: key });
    return async () => {
      const { token } = await this.must(201, 'POST', `/clusters/${name}/enrolments`, {});
      return joinString({ token: String(token), clusterKeySeed: clusterKey.seed });
    };
  }

  async must(status: number, method: string, apiPath: string, body?: unknown) {
    const response = await this.tenant.call(method, `/api/v3${apiPath}`, { body });
    if (response.status !== status)
      throw new Error(`${method} ${apiPath}: ${response.status} ${JSON.stringify(response.json)}`);
    return response.json;
  }

  order = async (name: string, query = '') =>
    await this.must(200, 'GET', `/orders/${encodeURIComponent(name)}${query}`);

  /**
   * Issues the open issuance of an order, by the CSR that an agent sent, as the worker would.
   *
   * @returns SHA-256 of the leaf, hex
   */
  async issue(orderName: string): Promise<string> {
    const [[row]] = await this.database.query<[{ id: string; plan_id: string }[], number]>(
      `UPDATE issuance SET due_at = now(), ca_reference = 'reference-' || issuance.id
       FROM order_v3 WHERE order_v3.plan_id = issuance.plan_id AND order_v3.name = $1 AND state = 'open'
       RETURNING issuance.id, issuance.plan_id`,
      [orderName],
    );
    if (row === undefined) throw new Error(`${orderName} has no open issuance`);
    const work = await new LeasedIssuances(this.database).lease(String(row.id), leaseMs);
    if (work === null) throw new Error('the issuance can be leased');
    const leaf = new X509Certificate(this.sign(Buffer.from(work.terms.csr)));
    const sha256 = leaf.fingerprint256.replaceAll(':', '').toLowerCase();
    const isAttached = await new Attachments(new Transactions(this.database)).attach(work.lease, {
      planId: String(row.plan_id),
      accountId: work.issuance.accountId,
      certificateId: String(randomInt(1, 2 ** 47)),
      dnsNames: work.terms.dnsNames,
      keyType: work.terms.keyType,
      serialNumber: leaf.serialNumber.toLowerCase(),
      notBefore: leaf.validFromDate,
      notAfter: leaf.validToDate,
      sha256: Buffer.from(sha256, 'hex'),
      spkiSha256: work.terms.spkiSha256,
      leaf: leaf.raw,
      tbsSha256: Buffer.from(sha256, 'hex'),
      hasSctList: false,
      chain: [this.intermediate.der],
      root: this.root.der,
      approvals: [],
    });
    if (!isAttached) throw new Error('the plan is not paused');
    return sha256;
  }

  /** All tables as text, with the bytes of binary columns as Latin-1 too. */
  async everyRow(): Promise<string> {
    const tables: { name: string }[] = await this.database.query(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const texts = [];
    for (const { name } of tables) {
      const rows: { text: string }[] = await this.database.query(`SELECT t::text AS text FROM ${name} AS t`);
      texts.push(...rows.map(({ text }) => text));
    }
    const bytes = texts.flatMap((text) =>
      [...text.matchAll(/\\x([0-9a-f]+)/g)].map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1')),
    );
    return [...texts, ...bytes].join('\n');
  }

  /** Waits for the CSR of an agent, then issues. The task is given to another agent after 60 s. */
  async issueWhenRequested(orderName: string): Promise<string> {
    return await eventually(async () => await this.issue(orderName), { withinMs: 90_000 });
  }

  /** A certificate for the CSR by the intermediate; PEM. */
  private sign(csr: Buffer): Buffer {
    const file = path.join(this.forge.folder, `request-${randomInt(2 ** 47)}.der`);
    writeFileSync(file, csr);
    const { file: ca, keyFile } = this.intermediate;
    const args = ['x509', '-req', '-in', file, '-inform', 'DER', '-CA', ca, '-CAkey', keyFile];
    const serial = ['-set_serial', String(randomInt(1, 2 ** 47))];
    return execFileSync('openssl', [...args, ...serial, '-copy_extensions', 'copyall', '-days', '90'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }
}

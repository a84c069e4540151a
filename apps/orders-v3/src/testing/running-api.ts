import { createHash, randomBytes, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { apiAccount, statementsOf } from '@certwright/core-testing';
import { createLogger, Metrics, Readiness, type RunningProcess } from '@certwright/service';
import {
  type ReceivedResponse,
  DocumentedResponses,
  exchange,
  type Sent,
  testDatabase,
  type TestDatabase,
  testRedis,
  type TestRedis,
} from '@certwright/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ordersSettings } from '../config';
import { start } from '../front';

/** An account that calls the API over real HTTP. */
export class Tenant {
  constructor(
    private readonly api: RunningApi,
    readonly accountId: string,
    readonly apiKey: string,
  ) {}

  get = (path: string, sent: Sent = {}) => this.call('GET', path, sent);
  post = (path: string, body: unknown, headers: Sent['headers'] = {}) =>
    this.call('POST', path, { body, headers });
  delete = (path: string, sent: Sent = {}) => this.call('DELETE', path, sent);

  async call(method: string, path: string, { body, headers = {} }: Sent): Promise<ReceivedResponse> {
    const withKey = { authorization: `Bearer ${this.apiKey}`, ...headers };
    return await this.api.call(method, path, { body, headers: withKey });
  }
}

type Settings = Readonly<Record<string, string>>;

/** Value of `SEALING_KEYS` in specs. */
export const specSealingKey = randomBytes(32).toString('base64');

/** Queries of the sweep, which no request causes. */
const isOfSweep = (statement: string) => statement.includes('account_with_news');

const openApiDocument = JSON.parse(readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8'));

/** The whole API on a real PostgreSQL, a real Redis and a real port. */
export class RunningApi {
  private readonly closes: (() => unknown)[] = [];
  /** Lines of its log; none below `LOG_LEVEL`, which defaults to `silent`. */
  readonly logged: string[] = [];
  /** The responses in `openapi.json`; every JSON response is compared with it. */
  readonly documented = new DocumentedResponses(openApiDocument);
  app: NestFastifyApplication;
  url: string;

  private constructor(
    readonly database: TestDatabase,
    readonly redis: TestRedis,
    readonly readiness: Readiness,
  ) {}

  /** @param settings on top of generous limits; may depend on where the database is, for the process and for its owner */
  static async start(
    settings: Settings | ((databaseUrl: string, ownerUrl: string) => Promise<Settings> | Settings) = {},
  ): Promise<RunningApi> {
    const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
    const special =
      typeof settings === 'function' ? await settings(database.urlOf('orders-v3'), database.url) : settings;
    const api = new RunningApi(database, redis, new Readiness({ reuseMs: 0 }));
    const config = ordersSettings.read({
      DATABASE_URL: database.urlOf('orders-v3'),
      REDIS_URL: redis.url,
      PORT: '0',
      LOG_LEVEL: 'silent',
      READS_PER_S: '100000',
      WRITES_PER_S: '100000',
      DRAIN_TIME: '0',
      SEALING_KEYS: specSealingKey,
      ...special,
    });
    const running: RunningProcess = {
      name: 'orders-v3',
      log: createLogger('orders-v3', config.LOG_LEVEL, { write: (line) => void api.logged.push(line) }),
      metrics: new Metrics('orders-v3'),
      readiness: api.readiness,
      opened: (_name, close) => void api.closes.unshift(close),
    };
    try {
      api.app = await start(config, running);
    } catch (error) {
      await api.stop();
      throw error;
    }
    api.readiness.started();
    api.url = (await api.app.getUrl()).replace('[::1]', '127.0.0.1');
    return api;
  }

  async stop(): Promise<void> {
    for (const close of this.closes) await close();
    await Promise.all([this.database.dispose(), this.redis.dispose()]);
  }

  async tenant(...permissions: string[]): Promise<Tenant> {
    const { accountId, apiKey } = await apiAccount(this.database, permissions);
    return new Tenant(this, accountId, apiKey);
  }

  /** The texts of the statements that the API sends to the database for `work`. */
  async statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    return (await statementsOf(work)).filter((statement) => !isOfSweep(statement));
  }

  /** @throws Error when a JSON response differs from `openapi.json` */
  async call(method: string, path: string, sent: Sent = {}): Promise<ReceivedResponse> {
    const response = await exchange(this.url, method, path, sent);
    const { status, json } = response;
    if (json === undefined) return response;
    const differences = this.documented.differences({ method, path, status, body: json });
    if (differences.length > 0) throw new Error(`undocumented response:\n${differences.join('\n')}`);
    return response;
  }
}

export interface ForgedCertificate {
  readonly dnsNames: readonly string[];
  /** SHA-256 over the SubjectPublicKeyInfo, hex. */
  readonly pubkeySha256: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly revokedAt?: Date;
  readonly isCurrent?: boolean;
}

const day = 86_400_000;

/** A certificate of an order, as the worker would have attached it; its DER is any bytes. @returns its id */
export async function attachCertificate(
  { database }: RunningApi,
  tenant: Tenant,
  orderName: string,
  certificate: ForgedCertificate,
): Promise<number> {
  const id = randomInt(1, 2 ** 47);
  const leaf = Buffer.from(`leaf ${id}`);
  const { notBefore = new Date(Date.now() - day), notAfter = new Date(Date.now() + 90 * day) } = certificate;
  await database.query(
    `INSERT INTO certificate_chain (sha256, chain, root) VALUES ('\\x01', ARRAY['\\x02'::bytea], '\\x03') ON CONFLICT DO NOTHING`,
  );
  await database.query(
    `WITH made AS (
       INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
       SELECT plan.id, plan.account_id, plan.terms_id, 1000000 + $11, 'issued', '[]', now(), now() FROM plan JOIN order_v3 ON plan_id = plan.id
       WHERE order_v3.account_id = $1 AND order_v3.name = $2 RETURNING id, plan_id, account_id)
     INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
       not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, revoked_at)
     SELECT $3, account_id, plan_id, id, $4, $5, 'ecdsa', '01', $6, $7, $8, $9, $10, '\\x01', $12 FROM made`,
    [
      tenant.accountId,
      orderName,
      id,
      certificate.isCurrent ?? true,
      certificate.dnsNames,
      notBefore,
      notAfter,
      createHash('sha256').update(leaf).digest(),
      Buffer.from(certificate.pubkeySha256, 'hex'),
      leaf,
      randomInt(1, 1_000_000),
      certificate.revokedAt ?? null,
    ],
  );
  return id;
}

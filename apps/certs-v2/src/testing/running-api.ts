import { randomBytes, scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { certsSettings } from '../config';
import { start } from '../front';
import { Tenant } from './tenant';

type Settings = Readonly<Record<string, string>>;

/** What `SEALING_KEYS` is in specs. */
const specSealingKey = randomBytes(32).toString('base64');

const openApiDocument = JSON.parse(readFileSync(join(__dirname, '../../openapi.json'), 'utf8')) as object;

/** The sweep queries on its own schedule, independent of requests. */
const isOfSweep = (statement: string) => statement.includes('account_with_news');

/** The whole API on a real PostgreSQL, a real Redis and a real port. */
export class RunningApi {
  private readonly closes: (() => unknown)[] = [];
  /** Lines of its log; none below `LOG_LEVEL`, which defaults to `silent`. */
  readonly logged: string[] = [];
  /** What `openapi.json` says about the responses; every JSON response is compared with it. */
  readonly documented = new DocumentedResponses(openApiDocument);
  app: NestFastifyApplication;
  url: string;

  private constructor(
    readonly database: TestDatabase,
    readonly redis: TestRedis,
    readonly readiness: Readiness,
  ) {}

  /** @param settings on top of generous limits; may depend on where the database is */
  static async start(
    settings: Settings | ((databaseUrl: string) => Promise<Settings>) = {},
  ): Promise<RunningApi> {
    const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
    const special = typeof settings === 'function' ? await settings(database.urlOf('certs-v2')) : settings;
    const api = new RunningApi(database, redis, new Readiness({ reuseMs: 0 }));
    const config = certsSettings.read({
      DATABASE_URL: database.urlOf('certs-v2'),
      ...redis.environment,
      PORT: '0',
      LOG_LEVEL: 'silent',
      READS_PER_S: '100000',
      WRITES_PER_S: '100000',
      DRAIN_TIME: '0',
      SEALING_KEYS: specSealingKey,
      ...special,
    });
    const running: RunningProcess = {
      name: 'certs-v2',
      log: createLogger('certs-v2', config.LOG_LEVEL, { write: (line) => void api.logged.push(line) }),
      metrics: new Metrics('certs-v2'),
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

  /** A new account and its API key, which may order and manage certificates unless other permissions are said. */
  async tenant(...permissions: string[]): Promise<Tenant> {
    const { accountId, apiKey } = await apiAccount(this.database, permissions);
    return new Tenant(this, accountId, apiKey);
  }

  /** A person of the account who signs in with a password. @returns the account as that person calls it */
  async user(tenant: Tenant, email: string, password: string): Promise<Tenant> {
    await this.database.query(
      `INSERT INTO account_user (account_id, email, password_hash) VALUES ($1, $2, $3)`,
      [tenant.accountId, email, passwordHash(password)],
    );
    return tenant.as(email, password);
  }

  /** Texts of the statements that the API sends to the database during `work`. */
  async statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    return (await statementsOf(work)).filter((statement) => !isOfSweep(statement));
  }

  async call(method: string, path: string, sent: Sent = {}): Promise<ReceivedResponse> {
    const response = await exchange(this.url, method, path, sent);
    const { status, json } = response;
    if (json === undefined) return response;
    const differences = this.documented.differences({ method, path, status, body: json });
    if (differences.length > 0) throw new Error(`undocumented response:\n${differences.join('\n')}`);
    return response;
  }
}

/** As `account_user.password_hash` has it; cheap, so that checks of a spec do not wait for each other on a busy machine. */
function passwordHash(password: string): string {
  const { N, r, p } = { N: 2 ** 10, r: 8, p: 1 };
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N, r, p, maxmem: 64 * 1024 * 1024 });
  return `scrypt:${N}:${r}:${p}:${salt.toString('base64url')}:${hash.toString('base64url')}`;
}

export { Tenant } from './tenant';
export type { ReceivedResponse, Sent } from '@certwright/testing';

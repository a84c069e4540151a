import { randomBytes, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { CrlIds, crlsOf, IssuerIds, storeIssuances } from '@certwright/ct-index';
import { ctDataSource } from '@certwright/ct-schema';
import { ctTestDatabase } from '@certwright/ct-testing';
import {
  apiKeySha256,
  createLogger,
  Metrics,
  mintApiKey,
  Readiness,
  type RunningProcess,
} from '@certwright/service';
import {
  type ApiDocument,
  citusUrl,
  DocumentedResponses,
  testDatabase,
  type TestDatabase,
  testRedis,
  type TestRedis,
} from '@certwright/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { searchSettings } from '../config';
import { start } from '../start';
import type { ForgedIssuance } from './forged-issuance';

type Settings = Readonly<Record<string, string>>;
type Headers = Readonly<Record<string, string | string[]>>;

export interface SearchResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON; undefined when it is empty or something else. */
  readonly json: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- specs read whatever came
}

const generousLimits = {
  ANONYMOUS_PER_S: '100000',
  ANONYMOUS_PER_MIN: '1000000',
  ANONYMOUS_SINGLE_PER_HOUR: '10000000',
  ANONYMOUS_SUBDOMAINS_PER_HOUR: '10000000',
};

/** `openapi.json`. */
export const keptDocument = JSON.parse(
  readFileSync(path.join(__dirname, '../../openapi.json'), 'utf8'),
) as ApiDocument;

/** Statements are counted only where one of them has the keys of several requests. */
export const isOnCitus = citusUrl() !== undefined;

/** Positions per partition: few, so that pages cross partitions. */
const positionsPerPartition = 500;
const room = 6_000;

/** The whole API with a real PostgreSQL for both databases, a real Redis and a real port. */
export class RunningSearch {
  private readonly closes: (() => unknown)[] = [];
  private readonly ids = new IssuerIds();
  private readonly crls = new CrlIds();
  readonly logged: string[] = [];
  /** What `openapi.json` says about the responses; every JSON response is compared with it. */
  readonly documented = new DocumentedResponses(keptDocument);
  readonly metrics = new Metrics('ct-search');
  app: NestFastifyApplication;
  url: string;

  private constructor(
    readonly database: TestDatabase,
    /** The same, unless `database` is on Citus. */
    readonly core: TestDatabase,
    readonly redis: TestRedis,
    private readonly ct: DataSource,
    readonly readiness: Readiness,
  ) {}

  /**
   * @param settings on top of generous limits; may depend on where the database is
   * @param ownCtUrl where issuances are stored; absent: the database of the spec
   */
  static async start(
    settings: Settings | ((databaseUrl: string) => Promise<Settings>) = {},
    ownCtUrl?: string,
  ): Promise<RunningSearch> {
    const [database, redis] = await Promise.all([ctTestDatabase(positionsPerPartition, room), testRedis()]);
    const core = citusUrl() === undefined ? database : await testDatabase();
    // As an API or the worker does.
    await core.query(`INSERT INTO deployment (mode) VALUES ('sandbox')`);
    const special = typeof settings === 'function' ? await settings(database.urlOf('ct-search')) : settings;
    const ct = ctDataSource({
      url: ownCtUrl ?? database.url,
      applicationName: 'spec',
      poolSize: 4,
      statementTimeoutMs: 30_000,
    });
    await ct.initialize();
    const search = new RunningSearch(database, core, redis, ct, new Readiness({ reuseMs: 0 }));
    const config = searchSettings.read({
      DATABASE_URL: core.urlOf('ct-search'),
      CT_DATABASE_URL: database.urlOf('ct-search'),
      ...redis.environment,
      PORT: '0',
      PUBLIC_URL: 'https://ct.example.com',
      LOG_LEVEL: 'silent',
      DRAIN_TIME: '0',
      ...generousLimits,
      ...special,
    });
    const running: RunningProcess = {
      name: 'ct-search',
      log: createLogger('ct-search', config.LOG_LEVEL, { write: (line) => void search.logged.push(line) }),
      metrics: search.metrics,
      readiness: search.readiness,
      opened: (_name, close) => void search.closes.unshift(close),
    };
    try {
      search.app = await start(config, running);
    } catch (error) {
      await search.stop();
      throw error;
    }
    search.readiness.started();
    search.url = (await search.app.getUrl()).replace('[::1]', '127.0.0.1');
    return search;
  }

  async stop(): Promise<void> {
    for (const close of this.closes) await close();
    await this.ct.destroy();
    await Promise.all([this.database.dispose(), this.core.dispose(), this.redis.dispose()]);
  }

  /** One transaction, as ct-ingest stores a batch. @returns ids of the issuances, in the order given */
  async store(...issuances: readonly ForgedIssuance[]): Promise<string[]> {
    await this.ids.ensure(
      this.ct.manager,
      issuances.map(({ issuer }) => issuer),
    );
    const crls = await crlsOf(this.ct.manager, this.crls, this.ids, issuances);
    await this.ct.transaction(async (tx) => await storeIssuances(tx, this.ids, issuances, crls));
    const hashes = issuances.map(({ tbsSha256 }) => Buffer.from(tbsSha256, 'hex'));
    const rows = await this.ct.query<{ position: string }[]>(
      `SELECT position FROM unnest($1::bytea[]) WITH ORDINALITY AS given (tbs_sha256, nth)
       JOIN ct_issuance USING (tbs_sha256) ORDER BY nth`,
      [hashes],
    );
    return rows.map(({ position }) => position);
  }

  /** Moves the discovery of these and all earlier ones back by this many hours. */
  async age(id: string | undefined, hours: number): Promise<void> {
    await this.database.query(
      `UPDATE ct_issuance SET discovered_at = now() - $2::float8 * interval '1 hour'
       WHERE position <= $1 AND discovered_at > now() - $2::float8 * interval '1 hour'`,
      [id, hours],
    );
  }

  /** A new account with an API key. @param plan absent: the default one @returns the Authorization header */
  async key(plan?: string): Promise<{ readonly authorization: string }> {
    const accountId = String(randomInt(1, 2 ** 47));
    const apiKey = mintApiKey(accountId, randomBytes);
    await this.core.query(`INSERT INTO account (id, name) VALUES ($1, 'A tenant')`, [accountId]);
    await this.core.query(
      `INSERT INTO api_key (account_id, label, secret_sha256, permissions) VALUES ($1, 'spec', $2, '{Search Certificates}')`,
      [accountId, apiKeySha256(apiKey)],
    );
    if (plan !== undefined) {
      await this.core.query(`INSERT INTO search_subscription (account_id, plan) VALUES ($1, $2)`, [
        accountId,
        plan,
      ]);
    }
    return { authorization: `Bearer ${apiKey}` };
  }

  /** Tables of the statements that the API sends to the ct database during `work`, in order. */
  async statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    const statements: string[] = [];
    const query = jest.spyOn(Client.prototype, 'query');
    await work();
    for (const [statement] of query.mock.calls as unknown[][]) {
      statements.push(typeof statement === 'string' ? statement : (statement as { text: string }).text);
    }
    query.mockRestore();
    return statements.filter((statement) => statement.includes('ct_'));
  }

  get = async (path: string, headers: Headers = {}): Promise<SearchResponse> =>
    await this.call('GET', path, headers);

  /** A search, by the parameters as pairs or as an object. */
  search = async (
    query: Settings | readonly [string, string][],
    headers: Settings = {},
  ): Promise<SearchResponse> =>
    await this.get(
      `/v1/issuances?${new URLSearchParams(query as Record<string, string>).toString()}`,
      headers,
    );

  /**
   * The path is sent unchanged.
   *
   * @throws Error when a JSON response differs from `openapi.json`
   */
  async call(method: string, path: string, headers: Headers = {}): Promise<SearchResponse> {
    const response = await this.exchange(method, path, headers);
    const { status, json } = response;
    if (json === undefined) return response;
    const differences = this.documented.differences({ method, path, status, body: json });
    if (differences.length > 0) throw new Error(`undocumented response:\n${differences.join('\n')}`);
    return response;
  }

  private async exchange(method: string, path: string, headers: Headers): Promise<SearchResponse> {
    const { hostname, port } = new URL(this.url);
    return await new Promise((resolve, reject) => {
      const sent = request({ hostname, port, method, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const isJson = bytes.length > 0 && response.headers['content-type']?.startsWith('application/json');
          const text = bytes.toString();
          const json = isJson ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text, json });
        });
      });
      sent.on('error', reject);
      sent.end();
    });
  }
}

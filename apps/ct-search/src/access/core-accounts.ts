import { Problem, StartFault } from '@certwright/errors';
import {
  databaseTime,
  DatabasePool,
  type DatabasePooler,
  type DatabaseUrl,
  sessionSettings,
  settingsProblem,
  type DeploymentIdentity,
  deploymentIdentity,
} from '@certwright/postgres';
import { type ApiKeys, within } from '@certwright/service';
import { LookupBatches } from '../ct-index/lookup-batches';
import type { SearchKey } from './search-access';

export interface CoreAccountsOptions {
  /** The core database. */
  readonly url: DatabaseUrl;
  /** Default: none. */
  readonly pooler?: DatabasePooler;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Max connections; they are opened on demand. */
  readonly poolSize: number;
  /** Time limit of a look-up, ms, including the wait for a connection. */
  readonly statementTimeoutMs: number;
}

/** The core database is unavailable: the status of the key is unknown. Try again later. */
export class CoreUnavailable extends Error {
  constructor(cause: unknown) {
    super('the core database is unavailable', { cause });
    this.name = 'CoreUnavailable';
  }
}

/**
 * The API keys and search plans of the `core` database, for processes that need nothing else of it. The database may be
 * unavailable at the start and at any time.
 */
export class CoreAccounts {
  readonly #pool: DatabasePool;
  /** Anyone may send any number of keys that do not exist: they must not take the connections of other requests. */
  readonly #keys: LookupBatches<Buffer, SearchKeyRow | null>;
  readonly #timeoutMs: number;
  #hasFitted = false;
  #hasSettings = false;

  constructor({ url, pooler, applicationName, poolSize, statementTimeoutMs }: CoreAccountsOptions) {
    this.#timeoutMs = statementTimeoutMs;
    this.#pool = new DatabasePool({
      url,
      pooler,
      application_name: applicationName,
      max: poolSize,
      connectionTimeoutMillis: statementTimeoutMs,
      session: sessionSettings({ statementTimeoutMs }),
      // After a server freeze or an unnoticed fail-over nothing comes back, not even the timeout.
      query_timeout: 1.5 * statementTimeoutMs,
      keepAlive: true,
    });
    this.#keys = new LookupBatches<Buffer, SearchKeyRow | null>(
      {
        of: async (reader, digests) => {
          const rows = await reader.query<FoundSearchKey[]>(searchKeysStatement.text, [digests]);
          const found = new Map(rows.map((row) => [row.nth, row]));
          return digests.map((_, at) => found.get(at + 1) ?? null);
        },
      },
      async (_text, values) => (await this.#pool.query({ ...searchKeysStatement, values })).rows,
      { maxRunning: poolSize, maxPerBatch: maxKeys },
    );
  }

  /**
   * @param secretSha256 SHA-256 over the whole key as sent
   * @returns `null` when there is no such key
   * @throws CoreUnavailable
   */
  async findSearchKey(secretSha256: Buffer): Promise<SearchKey | null> {
    const untilMs = performance.now() + this.#timeoutMs;
    const [row = null] = await this.#inTime(
      this.#keys.look([secretSha256], () => untilMs - performance.now()),
    );
    return row === null ? null : searchKeyOf(row);
  }

  /** Whether keys can be looked up; for readiness. @throws CoreUnavailable */
  async check(): Promise<unknown> {
    await this.#query({ text: 'SELECT FROM search_plan WHERE is_default' });
    return await databaseTime(async (text) => await this.#query({ text }), 'DATABASE_URL');
  }

  /** @throws StartFault when keys cannot be looked up in the database for another reason than an outage */
  async checkSchema(): Promise<void> {
    if (this.#hasFitted) return;
    try {
      await this.findSearchKey(Buffer.alloc(32));
      this.#hasFitted = true;
    } catch (error) {
      if (error instanceof CoreUnavailable) return;
      throw new StartFault(
        `DATABASE_URL: API keys cannot be looked up (${(error as Error).message}); run "npm run migrate" of this release, or correct DATABASE_URL`,
      );
    }
  }

  /**
   * Does not query again once they have been right: a server that does not respond would take every copy out of a balancer.
   *
   * @throws Error when sessions behind a pooler lack settings; not while the database is unavailable
   */
  async checkSettings(): Promise<void> {
    if (this.#hasSettings) return;
    const settings = sessionSettings({ statementTimeoutMs: this.#timeoutMs });
    const query = async <Rows>(text: string, values?: unknown[]) =>
      (await this.#query({ text, values })) as Rows;
    try {
      const problem = await settingsProblem({ query }, settings);
      if (problem !== null) throw new Error(problem);
      this.#hasSettings = true;
    } catch (error) {
      if (!(error instanceof CoreUnavailable)) throw error;
    }
  }

  /** For claims of shared services. @throws CoreUnavailable */
  async deployment(): Promise<DeploymentIdentity | null> {
    return await deploymentIdentity({
      query: async (text) => await this.#query<DeploymentIdentity>({ text }),
    });
  }

  /** Waits for pending queries. */
  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #query<Row extends object>(statement: {
    readonly text: string;
    readonly values?: unknown[];
  }): Promise<Row[]> {
    return (await this.#inTime(this.#pool.query<Row>(statement))).rows;
  }

  /** @throws CoreUnavailable */
  async #inTime<T>(pending: Promise<T>): Promise<T> {
    try {
      return await within(this.#timeoutMs, pending);
    } catch (error) {
      throw isOutage(error) ? new CoreUnavailable(error) : error;
    }
  }
}

interface SearchKeyRow {
  readonly key_id: string;
  readonly account_id: string;
  readonly permissions: string[];
  readonly disabled: boolean;
  readonly suspended: boolean;
  /** Null only without both a subscription and a default plan. */
  readonly plan: string | null;
  readonly queries_per_second: number;
  readonly burst: number;
  readonly time_limit_ms: number;
  readonly firehose: boolean;
}

interface FoundSearchKey extends SearchKeyRow {
  /** Number of the digest, from 1. */
  readonly nth: number;
}

/** In one statement; PostgreSQL looks them up one after the other, some ten microseconds each. */
const maxKeys = 64;

/** Named: a connection parses and plans it once. The sub-select hides the number of digests from the planner. */
const searchKeysStatement = {
  name: 'search-keys',
  text: `SELECT wanted.nth::int, found.* FROM unnest((SELECT $1::bytea[])) WITH ORDINALITY AS wanted (secret_sha256, nth)
    CROSS JOIN LATERAL (SELECT api_key.id AS key_id, api_key.account_id, api_key.permissions,
      (api_key.disabled_at IS NOT NULL OR account.disabled_at IS NOT NULL) AS disabled,
      search_subscription.suspended_at IS NOT NULL AS suspended,
      search_plan.name AS plan, search_plan.queries_per_second, search_plan.burst, search_plan.time_limit_ms,
      search_plan.firehose
    FROM api_key
    JOIN account ON account.id = api_key.account_id
    LEFT JOIN search_subscription ON search_subscription.account_id = api_key.account_id
    LEFT JOIN search_plan ON search_plan.name =
      coalesce(search_subscription.plan, (SELECT name FROM search_plan WHERE is_default))
    WHERE api_key.secret_sha256 = wanted.secret_sha256 LIMIT 1) AS found`,
};

function searchKeyOf(row: SearchKeyRow): SearchKey {
  const { key_id, account_id, permissions, disabled, suspended, plan } = row;
  if (plan === null) throw new Error('there is no default search plan');
  return {
    keyId: key_id,
    accountId: account_id,
    permissions,
    disabled,
    suspended,
    plan: {
      name: plan,
      queriesPerS: row.queries_per_second,
      burst: row.burst,
      timeLimitMs: row.time_limit_ms,
      firehose: row.firehose,
    },
  };
}

/** SQLSTATE classes of errors in a statement, which are bugs here. */
const isOurFault = /^(0A|22|23|42)/;

/** All other errors: refused, reset, timed out, shutting down, in recovery, too many connections. */
function isOutage(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return !(typeof code === 'string' && isOurFault.test(code));
}

/** Value of Retry-After, seconds. */
const outageRetryAfterS = 5;

/** Looks up keys in the core database for requests. */
export class SearchKeys implements ApiKeys<SearchKey> {
  constructor(private readonly accounts: Pick<CoreAccounts, 'findSearchKey'>) {}

  /** @throws Problem `service_outage` while the database cannot be queried */
  async find(secretSha256: Buffer): Promise<SearchKey | null> {
    try {
      return await this.accounts.findSearchKey(secretSha256);
    } catch (error) {
      if (!(error instanceof CoreUnavailable)) throw error;
      throw new Problem('service_outage', 'API keys cannot be looked up at present. Please try again.', {
        retryAfterS: outageRetryAfterS,
      });
    }
  }
}

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
import { apiAccount, statementsOf } from './api-account';

type Environment = Readonly<Record<string, string>>;

/** Settings on top of generous limits; may depend on where the database is, for the process and for its owner. */
export type SpecSettings =
  Environment | ((databaseUrl: string, ownerUrl: string) => Promise<Environment> | Environment);

type LogLevel = Parameters<typeof createLogger>[1];

/** An API front end, as a spec starts it. `Caller` calls it for an account. */
export interface FrontUnderTest<Config, Caller = Tenant> {
  /** Of the process and of its database role. */
  readonly name: string;
  readonly settings: { read(environment: Environment): Config };
  readonly start: (config: Config, running: RunningProcess) => Promise<NestFastifyApplication>;
  /** Its `openapi.json`. */
  readonly document: object;
  /** Settings that it needs besides those of every front end. */
  readonly environment?: Environment;
  /** Whether a statement is of a background job and not of a request. Default: none is. */
  readonly isOfBackground?: (statement: string) => boolean;
  readonly Tenant: new (api: Pick<RunningFront, 'call'>, accountId: string, apiKey: string) => Caller;
}

/** An account that calls the API over real HTTP with its key as a bearer token. */
export class Tenant {
  constructor(
    private readonly api: Pick<RunningFront, 'call'>,
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

/** The whole API on a real PostgreSQL, a real Redis and a real port. */
export class RunningFront<Caller = Tenant> {
  private readonly closes: (() => unknown)[] = [];
  /** Lines of its log; none below `LOG_LEVEL`, which defaults to `silent`. */
  readonly logged: string[] = [];
  /** The responses in `openapi.json`; every JSON response is compared with it. */
  readonly documented: DocumentedResponses;
  app: NestFastifyApplication;
  url: string;

  private constructor(
    readonly database: TestDatabase,
    readonly redis: TestRedis,
    readonly readiness: Readiness,
    private readonly front: Pick<FrontUnderTest<unknown, Caller>, 'document' | 'isOfBackground' | 'Tenant'>,
  ) {
    this.documented = new DocumentedResponses(front.document);
  }

  static async start<Config extends { readonly LOG_LEVEL: LogLevel }, Caller>(
    front: FrontUnderTest<Config, Caller>,
    special: SpecSettings = {},
    openDatabase: () => Promise<TestDatabase> = testDatabase,
  ): Promise<RunningFront<Caller>> {
    const [database, redis] = await Promise.all([openDatabase(), testRedis()]);
    const api = new RunningFront<Caller>(database, redis, new Readiness({ reuseMs: 0 }), front);
    const { name, settings, start, environment } = front;
    const databaseUrl = database.urlOf(name);
    const config = settings.read({
      DATABASE_URL: databaseUrl,
      ...redis.environment,
      PORT: '0',
      LOG_LEVEL: 'silent',
      READS_PER_S: '100000',
      WRITES_PER_S: '100000',
      DRAIN_TIME: '0',
      ...environment,
      ...(typeof special === 'function' ? await special(databaseUrl, database.url) : special),
    });
    const running: RunningProcess = {
      name,
      log: createLogger(name, config.LOG_LEVEL, { write: (line) => void api.logged.push(line) }),
      metrics: new Metrics(name),
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

  async tenant(...permissions: string[]): Promise<Caller> {
    const { accountId, apiKey } = await apiAccount(this.database, permissions);
    return new this.front.Tenant(this, accountId, apiKey);
  }

  /** The texts of the statements that the API sends to the database for `work`. */
  async statementsOf(work: () => Promise<unknown>): Promise<string[]> {
    return (await statementsOf(work)).filter((statement) => !this.front.isOfBackground?.(statement));
  }

  /** @throws Error when a JSON response differs from `openapi.json` */
  async call(method: string, path: string, sent: Sent = {}): Promise<ReceivedResponse> {
    const answered = await exchange(this.url, method, path, sent);
    const { status, json } = answered;
    if (json === undefined) return answered;
    const differences = this.documented.differences({ method, path, status, body: json });
    if (differences.length > 0) throw new Error(`undocumented response:\n${differences.join('\n')}`);
    return answered;
  }
}

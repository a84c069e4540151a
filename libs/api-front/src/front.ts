import { AccountsModule, AccountUsers, ApiKeys } from '@certwright/accounts';
import { JobProcessorsModule, type JobsOptions } from '@certwright/bullmq';
import {
  CoreSchemaModule,
  OutboxWrites,
  withinDatabaseTime,
  WriteConnections,
} from '@certwright/core-schema';
import { databaseOutage } from '@certwright/errors';
import { deploymentIdentity } from '@certwright/postgres';
import {
  connectRedis,
  followDisabledKeys,
  OutboxNews,
  RedisModule,
  RedisTokenBuckets,
} from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import {
  ApiKeyCache,
  Authenticator,
  closeHttpApp,
  createHttpApp,
  type DocumentedApi,
  FallbackTokenBuckets,
  type frontSettings,
  HandfulTokenBuckets,
  type HttpAppOptions,
  MemoryTokenBuckets,
  Passwords,
  ProcessModule,
  requestLimits,
  RunningProcess,
  type SettingValues,
  startRounds,
} from '@certwright/service';
import {
  type DynamicModule,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

export type FrontConfig = SettingValues<ReturnType<typeof frontSettings>>;

/** The settings that all front ends have, for providers that do not belong to one of them. */
export const FrontSettings = Symbol('FrontSettings');

/** An API front end over the core database. */
export interface Front extends Pick<
  HttpAppOptions,
  'renderProblem' | 'jsonContentType' | 'acceptForms' | 'signedRequests'
> {
  /** Imports the feature modules. */
  readonly module: Type;
  /** Under which the settings are injected. */
  readonly token: symbol;
  readonly documentation: Pick<DocumentedApi, 'path' | 'document'>;
  /** Whether users may sign in with a password as well as with an API key. Default: no. */
  readonly passwords?: boolean;
}

/** Forgets API keys as soon as they are disabled. */
@Injectable()
export class DisabledKeys implements OnApplicationBootstrap {
  constructor(
    private readonly keys: ApiKeyCache,
    private readonly running: RunningProcess,
    private readonly redis: RedisAccess,
  ) {}

  onApplicationBootstrap(): void {
    const { name, log, opened } = this.running;
    const following = followDisabledKeys(this.redis, { name, keys: this.keys, log });
    opened('disabled keys', async () => await following.close());
  }
}

const admission: Provider[] = [
  {
    provide: FallbackTokenBuckets,
    inject: [RedisAccess, RunningProcess],
    useFactory: (access: RedisAccess, { name, log, opened }: RunningProcess) => {
      const redis = connectRedis(access, { name: `${name}-limits`, log });
      opened('redis', async () => await redis.close());
      return new FallbackTokenBuckets(new RedisTokenBuckets(redis), new MemoryTokenBuckets());
    },
  },
  { provide: ApiKeyCache, inject: [ApiKeys], useFactory: (keys: ApiKeys) => new ApiKeyCache(keys) },
  DisabledKeys,
];

const outboxNews: Provider = {
  provide: OutboxNews,
  inject: [RedisAccess, OutboxWrites, RunningProcess],
  useFactory: (redis: RedisAccess, writes: OutboxWrites, running: RunningProcess) =>
    new OutboxNews(redis, writes, running),
};

/** What every front end has: settings, the database, the admission of callers, and jobs. */
@Module({})
class FrontModule {
  static forRoot(front: Front, config: FrontConfig, running: RunningProcess): DynamicModule {
    const { name, log, readiness } = running;
    const authenticator: Provider = {
      provide: Authenticator,
      inject: [ApiKeyCache, FallbackTokenBuckets, AccountUsers],
      useFactory: (keys: ApiKeyCache, buckets: FallbackTokenBuckets, users: AccountUsers) => {
        const passwords = front.passwords ? new Passwords(users) : undefined;
        return new Authenticator(keys, new HandfulTokenBuckets(buckets), requestLimits(config), passwords);
      },
    };
    return {
      module: FrontModule,
      global: true,
      imports: [
        ProcessModule.forRoot(front.token, config, running),
        CoreSchemaModule.forRootAsync({
          useFactory: () => ({
            name,
            url: config.DATABASE_URL,
            pooler: config.DATABASE_POOLER,
            poolSize: config.DATABASE_POOL_SIZE,
            statementTimeoutMs: config.STATEMENT_TIMEOUT,
            deployment: { mode: config.CERTWRIGHT_MODE, access: 'claim' },
            log,
            readiness: readiness.shared,
          }),
        }),
        RedisModule.forRootAsync({
          inject: [DataSource],
          useFactory: (core: DataSource) => ({
            settings: config,
            process: running,
            findOwner: async () => await deploymentIdentity(core),
          }),
        }),
        JobProcessorsModule.forRootAsync({
          inject: [RedisAccess],
          useFactory: (redis: RedisAccess): JobsOptions => ({ redis, log, readiness: readiness.shared }),
        }),
        AccountsModule,
        front.module,
      ],
      providers: [{ provide: FrontSettings, useValue: config }, ...admission, authenticator, outboxNews],
      exports: [FrontSettings, FallbackTokenBuckets],
    };
  }
}

/**
 * The application of a front end, which does not listen yet. Waits for the database for half a minute; Redis may be
 * unavailable.
 *
 * @param create how Nest builds the application; tests replace providers there
 */
export async function createFront(
  front: Front,
  config: FrontConfig,
  running: RunningProcess,
  create?: Parameters<typeof createHttpApp>[2],
): Promise<NestFastifyApplication> {
  const writes = new WriteConnections(
    Math.max(1, Math.min(config.WRITE_CONNECTIONS, config.DATABASE_POOL_SIZE - 1)),
  );
  const { log, metrics, readiness } = running;
  const { renderProblem, jsonContentType, acceptForms, signedRequests, documentation } = front;
  const options: HttpAppOptions = {
    ...{ log, metrics, readiness, renderProblem, jsonContentType, acceptForms, signedRequests },
    timeouts: { keepAliveMs: config.KEEP_ALIVE_TIME },
    toProblem: databaseOutage,
    authenticator: Authenticator,
    trustedProxies: config.TRUSTED_PROXIES,
    traceparents: config.TRACEPARENT_OF_CALLERS,
    around: (handle) => withinDatabaseTime(config.DATABASE_TIME, handle),
    beginWrite: (account) => writes.begin(account),
    documentation: { ...documentation, publicUrl: config.PUBLIC_URL, statusPath: '/readyz' },
  };
  return await createHttpApp(FrontModule.forRoot(front, config, running), options, create);
}

/** Connections that the system keeps until they are accepted: thousands of clients may come back together. */
const backlog = 4_096;

/**
 * Opens everything and listens on `HOST` and `PORT`. Waits for the database for half a minute; Redis may be
 * unavailable, also at the start.
 */
export const startFront =
  (front: Front) =>
  async (config: FrontConfig, running: RunningProcess): Promise<NestFastifyApplication> => {
    const app = await createFront(front, config, running);
    running.opened('http', async () => await closeHttpApp(app, config.DRAIN_TIME));
    await app.listen({ port: config.PORT, host: config.HOST, backlog });
    startRounds(app, running);
    running.log.info({ url: await app.getUrl() }, 'listening');
    return app;
  };

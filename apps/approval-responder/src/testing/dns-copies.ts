import { randomBytes } from 'node:crypto';
import { Challenges } from '@certwright/approvals';
import { coreDataSource } from '@certwright/core-schema';
import { ChallengeValues, connectRedis, type RedisConnection } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { createLogger, Metrics, Readiness } from '@certwright/service';
import { eventually, testDatabase, testRedis, type TestRedis } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { responderSettings } from '../config';
import { ApprovalDns } from '../dns/approval-dns';
import { queryUdp } from './dns-queries';

export const zone = 'approval.example.net';
export const nameServers = `ns1.${zone}=127.0.0.1+2001:db8::1,ns2.other.example=127.0.0.2`;

type Settings = Readonly<Record<string, string>>;

export interface DnsCopy {
  /** Queries until responses come from Redis. */
  remembered(name: string): Promise<void>;
  readonly port: number;
  readonly metrics: Metrics;
  readonly logLines: readonly string[];
  close(): Promise<void>;
}

/** Proxies between a copy and its stores, which a test may cut. */
export interface Routes {
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
}

/** Any number of DNS servers on one real PostgreSQL and one real Redis. */
export class DnsCopies {
  readonly challenges: Challenges;
  private readonly closes: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly database: DataSource,
    /** With the role of the process. */
    readonly databaseUrl: string,
    private readonly store: TestRedis,
    private readonly redis: RedisConnection,
  ) {
    this.challenges = new Challenges(database);
  }

  get redisUrl(): string {
    return this.store.url;
  }

  async flushRedis(): Promise<void> {
    await this.store.flush();
  }

  static async open(): Promise<DnsCopies> {
    const [store, redis] = await Promise.all([testDatabase(), testRedis()]);
    const database = await dataSource(store.url).initialize();
    const log = { warn: () => undefined, info: () => undefined };
    const connection = connectRedis(redis.access, { name: 'spec', log });
    await eventually(() => connection.ping());
    const copies = new DnsCopies(database, store.urlOf('approval-responder'), redis, connection);
    copies.closes.push(
      () => Promise.all([database.destroy(), connection.close()]),
      () => Promise.all([store.dispose(), redis.dispose()]),
    );
    return copies;
  }

  async copy(settings: Settings = {}, { databaseUrl, redisUrl }: Routes = {}): Promise<DnsCopy> {
    const closes: (() => unknown)[] = [];
    const logLines: string[] = [];
    const metrics = new Metrics('approval-responder');
    const database = await dataSource(databaseUrl ?? this.databaseUrl).initialize();
    closes.push(() => database.destroy());
    const config = responderSettings.read({
      DATABASE_URL: databaseUrl ?? this.databaseUrl,
      ...this.store.environment,
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
      DNS_PORT: '0',
      APPROVAL_ZONE: zone,
      APPROVAL_NAME_SERVERS: nameServers,
      DNS_ANSWERS_PER_S: '100000',
      ...settings,
    });
    const running = {
      name: 'approval-responder',
      log: createLogger('approval-responder', 'debug', { write: (line) => void logLines.push(line) }),
      metrics,
      readiness: new Readiness(),
      opened: (_name: string, close: () => unknown) => void closes.unshift(close),
    };
    const dns = new ApprovalDns(config, running, new Challenges(database), new RedisAccess(config));
    await dns.onApplicationBootstrap();
    const port = dns.port ?? 0;
    let closed: Promise<void> | undefined;
    const close = () => (closed ??= inOrder(closes));
    this.closes.unshift(close);
    const remembered = async (name: string) =>
      await eventually(async () => {
        await queryUdp(port, name);
        expect(await metrics.render()).toMatch(/^dns_lookup_duration_seconds_count\{.*source="redis"/m);
      });
    return { port, metrics, logLines, close, remembered };
  }

  async close(): Promise<void> {
    await inOrder(this.closes);
  }

  /** The label of a new standing delegation. */
  async delegation(accountId: string, dnsName: string): Promise<string> {
    const label = [...randomBytes(32)].map((byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join('');
    await this.database.query(
      `INSERT INTO account (id, name) VALUES ($1, 'A tenant') ON CONFLICT DO NOTHING`,
      [accountId],
    );
    await this.database.query(`INSERT INTO delegation (account_id, dns_name, label) VALUES ($1, $2, $3)`, [
      accountId,
      dnsName,
      label,
    ]);
    return label;
  }

  /** Publishes a value like the worker before a CA validates. @returns the value */
  async publish(accountId: string, dnsName: string, label: string): Promise<string> {
    const value = randomBytes(32).toString('base64url');
    await this.challenges.publishRecords([{ accountId, dnsName, label, value }]);
    await new ChallengeValues(this.redis).changed([`target:${label}`, `name:${dnsName}`]);
    return value;
  }

  async retire(label: string): Promise<void> {
    await this.database.query(`UPDATE delegation SET retired_at = now() WHERE label = $1`, [label]);
  }
}

function dataSource(url: string): DataSource {
  return coreDataSource({ url, applicationName: 'spec', poolSize: 5, statementTimeoutMs: 5_000 });
}

async function inOrder(closes: readonly (() => unknown)[]): Promise<void> {
  for (const close of closes) await close();
}

import { type Answered, DnsServer } from '@certwright/dns-authority';
import { Challenges } from '@certwright/approvals';
import { ChallengeValues, connectRedis } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { RunningProcess } from '@certwright/service';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ResponderConfig } from '../config';
import { ApprovalSource } from './approval-source';
import { DnsMetrics } from './dns-metrics';
import { type ZoneSettings, zoneSettings } from './dns-settings';
import { KnownValues } from './known-values';
import { LookUpLimit, TooManyLookUps } from './look-up-limit';
import { ResponseLimit } from './response-limit';
import { ZoneRecords } from './zone-records';

/**
 * Timeout of Redis for a query, ms; then the database is queried. Well above the pauses of a busy process: taken for
 * an outage, they would send a flood on to the database.
 */
const redisTimeoutMs = 300;
/** Timeout of one database look-up, by primary key, ms. */
const databaseTimeoutMs = 1_000;
/** Resolvers retry after about this time; an earlier SERVFAIL lets them query another server. Milliseconds. */
const sourceTimeoutMs = 1_500;
/**
 * Max ratio of a UDP response to its query; longer responses are truncated: limits amplification with a forged
 * source. Seven values at a target fit.
 */
const mostAmplification = 10;
/** Max open connections; about 10 kB each. Only an attack opens more. */
const tcpConnections = 500;
/** One log line per interval about failing look-ups, for any number of failures. */
const logEveryMs = 10_000;

/** DNS server for the approval zone, when `DNS_PORT` is set. */
@Injectable()
export class ApprovalDns implements OnApplicationBootstrap {
  /** The address it listens on; null: it does not listen. */
  port: number | null = null;

  constructor(
    @Inject(ResponderConfig) private readonly config: ResponderConfig,
    private readonly running: RunningProcess,
    private readonly challenges: Challenges,
    private readonly redis: RedisAccess,
  ) {}

  /** @throws SettingsError; the system's error when it cannot listen */
  async onApplicationBootstrap(): Promise<void> {
    const zone = zoneSettings(this.config);
    if (zone === null) return;
    const server = this.server(zone);
    const { host, port } = await server.listen();
    this.running.opened('dns', () => server.close());
    this.port = port;
    this.running.log.info({ host, port, zone: zone.apex }, 'answering DNS');
  }

  private server(zone: ZoneSettings): DnsServer {
    const { log, metrics: registries, opened } = this.running;
    const redis = connectRedis(this.redis, {
      name: 'approval-responder-dns',
      log,
      commandTimeoutMs: redisTimeoutMs,
    });
    opened('redis-dns', () => redis.close());
    const metrics = new DnsMetrics(registries);
    const responses = new ResponseLimit({ ratePerS: this.config.DNS_ANSWERS_PER_S });
    const values = new KnownValues({
      remembered: new ChallengeValues(redis),
      stored: this.challenges,
      limit: new LookUpLimit(this.config.DNS_LOOKUPS),
      databaseTimeoutMs,
      onFound: (source, seconds) => metrics.found(source, seconds),
    });
    const failing = failureLog(log);
    return new DnsServer({
      host: this.config.DNS_HOST,
      port: this.config.DNS_PORT ?? 0,
      source: new ApprovalSource(new ZoneRecords(zone), values),
      sourceTimeoutMs,
      mostAmplification,
      limits: { tcpConnections },
      admit: (peer) => {
        const admission = responses.admit(peer);
        metrics.admitted(admission);
        return admission;
      },
      onAnswered: (answered) => {
        metrics.answered(answered);
        failing(answered);
      },
      onError: (error) => log.error({ err: error }, 'a DNS socket failed'),
    });
  }
}

/** Queried names are arbitrary input, so they are not logged. */
function failureLog(log: RunningProcess['log']): (answered: Answered) => void {
  let quietUntilMs = -Infinity;
  return ({ error }) => {
    const now = performance.now();
    if (error === undefined || now < quietUntilMs) return;
    quietUntilMs = now + logEveryMs;
    const what = error instanceof TooManyLookUps ? 'DNS queries were rejected' : 'a DNS look-up failed';
    log.warn({ err: error }, what);
  };
}

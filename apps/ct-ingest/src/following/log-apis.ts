import { KnownChains, readLogKey } from '@certwright/ct';
import type { CtLogEntity } from '@certwright/ct-schema';
import type { AddressGuard } from '@certwright/outbound';
import type { LogApi } from '../log-api/log-api';
import { LogUnavailable } from '../log-api/log-faults';
import { LogRequests } from '../log-api/log-requests';
import { Pace } from '../log-api/pace';
import { Rfc6962Log } from '../log-api/rfc6962-log';
import { StaticLog } from '../log-api/static-log';
import type { PerLog } from '../log-list/per-log';
import { logMemory } from '../memory/log-memory';
import type { MemoryShares } from '../memory/memory-shares';

export interface LogApisOptions {
  readonly guard: AddressGuard;
  readonly userAgent: string;
  readonly timeoutMs: number;
  /** Bytes per second. */
  readonly minResponseRate: number;
  readonly requestsPerSecond: PerLog<number>;
  readonly pageSize: number;
  readonly shares: MemoryShares;
  readonly now: () => number;
}

/** Clients of the logs, kept between turns to keep their pace and their page size. */
export class LogApis {
  private readonly apis = new Map<string, LogApi>();
  private readonly chains = new KnownChains();

  constructor(private readonly options: LogApisOptions) {}

  /** @throws LogUnavailable when the log's key is of an unsupported type */
  of(log: CtLogEntity): LogApi {
    const key = [log.id, log.kind, log.url, log.origin].join(' ');
    let api = this.apis.get(key);
    if (api === undefined) this.apis.set(key, (api = this.open(log)));
    return api;
  }

  private open(log: CtLogEntity): LogApi {
    const key = readLogKey(log.keyDer);
    if (key === null) throw new LogUnavailable('The key of the log is invalid or of an unsupported type.');
    const { guard, userAgent, timeoutMs, minResponseRate, requestsPerSecond, pageSize, shares, now } =
      this.options;
    const pace = Pace.perSecond(requestsPerSecond.of(log));
    const requests = new LogRequests({ guard, pace, userAgent, timeoutMs, minResponseRate, now });
    const common = { url: log.url, key, requests, memory: logMemory(shares) };
    return log.kind === 'static'
      ? new StaticLog({ ...common, origin: log.origin ?? '' })
      : new Rfc6962Log({ ...common, chains: this.chains, pageSize });
  }
}

import { Gauge } from 'prom-client';
import { type Repeating, repeat } from '../lifecycle/repeating';
import type { RunningProcess } from '../lifecycle/run-process';
import type { Logger } from '../logging/logger';
import { readCertificate, validityFault } from './key-pair-faults';

export interface FollowTlsOptions<T> {
  /** Between two reads, ms. */
  readonly everyMs: number;
  readonly log: Logger;
  /** @throws Error when they are not usable; those from before then remain in use */
  readonly use: (tls: T) => void;
}

/**
 * Reads keys and certificates again and again, since they are renewed. Compares their content: a mounted Secret changes
 * through a symbolic link, which file watchers do not see. Files that do not match, as when only one of them is written yet,
 * are retried at the next read; the log has one line until they change.
 */
export function followTls<T>(
  read: () => Promise<T> | T,
  first: T,
  { everyMs, log, use }: FollowTlsOptions<T>,
): Repeating {
  let inUse = JSON.stringify(first);
  let refused = '';
  const round = async (): Promise<number> => {
    const tls = await read();
    const text = JSON.stringify(tls);
    if (text !== inUse) {
      use(tls);
      inUse = text;
      log.info('TLS certificates renewed');
    }
    refused = '';
    return everyMs;
  };
  const onError = (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason !== refused)
      log.error({ error: reason }, 'TLS files not usable; those from before are in use');
    refused = reason;
  };
  return repeat(round, { afterErrorMs: everyMs, onError });
}

export interface ObservedCertificate {
  /** Of the readiness check. */
  readonly check: string;
  readonly setting: string;
  /** False: the process stays ready when it has expired, since most of its work needs no such connection. */
  readonly isRequired: boolean;
  /** PEM, as it is in use. */
  readonly current: () => string;
}

/** A readiness check that fails when the certificate has expired, and a metric of when it does. */
export function observeCertificate(
  { readiness, metrics }: Pick<RunningProcess, 'readiness' | 'metrics'>,
  { check, setting, isRequired, current }: ObservedCertificate,
): void {
  const assertValid = async () => {
    const fault = validityFault(current(), new Date());
    if (fault !== null) throw new Error(`${setting} ${fault}`);
    await Promise.resolve();
  };
  readiness.add(check, assertValid, { isRequired });
  new Gauge({
    name: 'certwright_tls_certificate_expires_seconds',
    help: 'Unix time at which the certificate expires that the setting names',
    labelNames: ['setting'],
    registers: [metrics.registry],
    collect() {
      const expires = readCertificate(current())?.validToDate;
      if (expires !== undefined) this.set({ setting }, expires.getTime() / 1_000);
    },
  });
}

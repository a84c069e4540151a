import type { RunningProcess } from '@certwright/service';
import type { CertificateAuthorities } from '../certificate-authorities';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { AcmeObserver } from '../../acme';
import type { PreflightPorts } from '../../preflight/preflight';
import type { AccountEvents } from './acme-accounts';
import { type HealthEvents, isDown } from '../health/authority-health';
import type { RolloverEvents } from './keep-accounts';

/** From a nonce on the same site to an overloaded CA. */
const exchangeBucketsS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface AcmeEvents extends AccountEvents, RolloverEvents, HealthEvents {
  observerOf(authority: string): AcmeObserver;
  readonly onVerdict: NonNullable<PreflightPorts['onVerdict']>;
}

/** Log lines and metrics of exchanges with CAs. */
export function observeAcme(
  { log, metrics: { registry } }: RunningProcess,
  stored: Pick<CertificateAuthorities, 'byName'>,
): AcmeEvents {
  const registers = [registry];
  new Gauge({
    name: 'certwright_authority_down',
    help: '1 while a CA is down and receives only probes',
    labelNames: ['authority'],
    registers,
    async collect() {
      for (const authority of (await stored.byName()).values())
        this.set({ authority: authority.name }, isDown(authority) ? 1 : 0);
    },
  });
  const exchanges = new Counter({
    name: 'certwright_acme_exchanges_total',
    help: 'Requests to CAs, by outcome: the status, or the error',
    labelNames: ['authority', 'operation', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'certwright_acme_exchange_seconds',
    help: 'From a request to a CA to its complete response',
    labelNames: ['authority', 'operation'],
    buckets: exchangeBucketsS,
    registers,
  });
  const verdicts = new Counter({
    name: 'certwright_preflight_total',
    help: 'Orders checked before a request to a CA, by verdict',
    labelNames: ['authority', 'verdict'],
    registers,
  });
  return {
    observerOf:
      (authority) =>
      ({ operation, status, fault, durationMs }) => {
        exchanges.inc({ authority, operation, outcome: fault ?? String(status) });
        seconds.observe({ authority, operation }, durationMs / 1_000);
      },
    down: (authority, { problem }) => {
      log.error({ authority, problem }, 'ALARM: a CA is down; orders wait for it, and it is probed');
    },
    up: (authority) => log.warn({ authority }, 'a CA is up again; waiting orders continue'),
    onVerdict: (authority, verdict) => verdicts.inc({ authority, verdict }),
    accountMade: (authority, accountUrl) => log.info({ authority, accountUrl }, 'account created at a CA'),
    accountLost: (authority, accountUrl) => {
      log.error({ authority, accountUrl }, 'ALARM: a CA does not accept our account; another one is created');
    },
    keyChanged: (authority) => log.info({ authority }, 'the key of the account at a CA was changed'),
    contactsNotUpdated: (authority, error) => {
      log.warn({ authority, err: error }, 'the contacts at a CA could not be updated; retrying');
    },
    keyNotChanged: (authority, error) => {
      log.warn({ authority, err: error }, 'the key of the account at a CA could not be changed; retrying');
    },
    keyChangeRefused: (authority, error) => {
      log.error(
        { authority, err: error },
        'ALARM: a CA refuses to change the key of our account; the key is kept',
      );
    },
  };
}

import type { RunningProcess } from '@certwright/service';
import { Gauge } from 'prom-client';
import type { Intermediates } from './intermediates';

/** An operator needs this long to renew, ms: the key ceremony needs people who have the root key. */
const warnBeforeMs = {
  certificate: 90 * 86_400_000,
  full_lifetime: 90 * 86_400_000,
  revocation_list: 30 * 86_400_000,
} as const;

/** Revocation lists of intermediates are renewed by the worker every day. */
const ownListBeforeMs = 4 * 86_400_000;

const repeatAfterMs = 86_400_000;

/**
 * Readiness, metrics and log lines about the keys of the built-in CA.
 *
 * @returns logs what has changed since the last call
 */
export function observeIntermediates(
  { log, metrics: { registry }, readiness }: RunningProcess,
  intermediates: Pick<Intermediates, 'problems' | 'ends'>,
): () => void {
  readiness.add('built-in CA', () =>
    intermediates.problems.length === 0
      ? Promise.resolve()
      : Promise.reject(new Error(intermediates.problems.join(' '))),
  );
  new Gauge({
    name: 'certwright_built_in_ca_seconds_left',
    help: 'Until a certificate or revocation list of the built-in CA ends; full_lifetime: until certificates end earlier than their product says',
    labelNames: ['issuer', 'what'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { issuer, what, at } of intermediates.ends)
        this.set({ issuer, what }, (at.getTime() - Date.now()) / 1_000);
    },
  });
  let logged: string | null = null;
  const warnedAtMs = new Map<string, number>();
  return () => {
    const problem = intermediates.problems.join(' ');
    if (problem !== (logged ?? '')) {
      if (problem === '') log.info('the built-in CA can sign');
      else log.error({ error: problem }, 'ALARM: the built-in CA cannot sign');
      logged = problem;
    }
    const nowMs = Date.now();
    for (const { issuer, what, at } of intermediates.ends) {
      const isOwnList = what === 'revocation_list' && issuer.startsWith('intermediate');
      const warnMs = isOwnList ? ownListBeforeMs : warnBeforeMs[what];
      const key = `${issuer} ${what}`;
      if (at.getTime() - nowMs > warnMs || nowMs - (warnedAtMs.get(key) ?? 0) < repeatAfterMs) continue;
      warnedAtMs.set(key, nowMs);
      log.error(
        { issuer, what, at },
        what === 'full_lifetime'
          ? 'ALARM: certificates of the built-in CA will end early; renew the intermediate'
          : 'ALARM: a certificate or revocation list of the built-in CA ends soon',
      );
    }
  };
}

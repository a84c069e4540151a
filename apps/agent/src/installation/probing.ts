import type { ServedMessage } from '@certwright/agent-contract';
import type { Probe, Service } from '../configuration/settings';
import type { ProbeOptions, ProbeResult, ProbeTarget } from '../probes/probe';

export type ProbeServer = (target: ProbeTarget, options: ProbeOptions) => Promise<ProbeResult>;

/** For the new certificate to be served, after a reload has returned. */
export const probeWithinMs = 30_000;
/** Of one connection. */
const connectionMs = 5000;
const maxAtOnce = 8;

export interface Expected {
  readonly probe: Probe;
  readonly keyType: 'rsa' | 'ecdsa' | null;
  readonly sha256: string;
}

export interface Observed {
  readonly isServed: boolean;
  readonly served: ServedMessage;
  readonly problem: string | null;
}

/** Probes of a service that concern a certificate: those whose name it covers. */
export function probesFor(service: Service, dnsNames: readonly string[]): readonly Probe[] {
  return service.probes.filter(({ serverName }) => dnsNames.some((name) => covers(name, serverName)));
}

/** RFC 9525, section 6.3: a wildcard covers exactly one label. */
function covers(pattern: string, name: string): boolean {
  const lower = pattern.toLowerCase();
  return lower.startsWith('*.')
    ? name.slice(name.indexOf('.')) === lower.slice(1) && name.includes('.')
    : lower === name;
}

export interface Prober {
  readonly probe: ProbeServer;
  readonly now: () => Date;
  readonly elapsedMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly signal?: AbortSignal;
}

/** Probes until each server presents what is expected or the time is up. A server may serve the old one for a moment. */
export async function observe(
  expected: readonly Expected[],
  { probe, now, elapsedMs, wait, signal }: Prober,
  withinMs = probeWithinMs,
): Promise<ReadonlyMap<Expected, Observed>> {
  const results = new Map<Expected, Observed>();
  const deadlineMs = elapsedMs() + withinMs;
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 1000)) {
    const open = expected.filter((each) => results.get(each)?.isServed !== true);
    for (let at = 0; at < open.length; at += maxAtOnce) {
      await Promise.all(
        open
          .slice(at, at + maxAtOnce)
          .map(async (each) => results.set(each, await look(each, probe, now, signal))),
      );
    }
    if (signal?.aborted === true || open.every((each) => results.get(each)?.isServed === true))
      return results;
    if (elapsedMs() + pauseMs >= deadlineMs) return results;
    await wait(pauseMs);
  }
}

async function look(
  { probe: target, keyType, sha256 }: Expected,
  probe: ProbeServer,
  now: () => Date,
  signal?: AbortSignal,
): Promise<Observed> {
  const { address, serverName, starttls } = target;
  const result = await probe(
    {
      address,
      serverName,
      ...(starttls === null ? {} : { starttls }),
      ...(keyType === null ? {} : { keyType }),
    },
    { timeoutMs: connectionMs, ...(signal === undefined ? {} : { signal }) },
  );
  const other = result.sha256 !== null && result.sha256 !== sha256;
  return {
    isServed: result.sha256 === sha256,
    served: { address: `${address}/${serverName}`, sha256: result.sha256, checked_at: now().toISOString() },
    problem: other
      ? `${address} serves another certificate (${result.sha256?.slice(0, 16) ?? ''}…) for ${serverName}`
      : result.problem,
  };
}

import { CrlHosts } from './store/crl-hosts';
import { CtCrls } from './store/ct-crls';
import type { AddressGuard } from '@certwright/outbound';
import { repeat, type RunningProcess } from '@certwright/service';
import type { DataSource } from 'typeorm';
import { MemoryBudget } from '../memory/memory-budget';
import { CrlTurn } from './crl-turn';
import { observeCrls, watchedCrls } from './observe-crls';
import { WatchCrls } from './watch-crls';

export interface RevocationOptions {
  readonly guard: AddressGuard;
  readonly userAgent: string;
  /** Hosts that are asked at the same time. */
  readonly places: number;
  readonly timeoutMs: number;
  readonly gapMs: number;
  readonly leaseMs: number;
  readonly turnMs: number;
  readonly minIntervalMs: number;
  readonly maxIntervalMs: number;
  readonly graceMs: number;
  /** That lists may take, all together, octets. */
  readonly memoryOctets: number;
  /** Of one list, octets. */
  readonly mostOctets: number;
}

/** How often new lists and hosts are looked for, and those that nobody needs any more, ms. */
const planRestMs = 30_000;
const forgetRestMs = 3_600_000;

/** When no host is due, we look again after this time, ms. */
const idleMs = 2_000;
const afterErrorMs = 5_000;

/** Keeps the revocation lists of all issuers up to date, with any number of processes. */
export function followRevocations(
  database: DataSource,
  running: RunningProcess,
  options: RevocationOptions,
): void {
  const [crls, hosts] = [new CtCrls(database), new CrlHosts(database)];
  const watch = new WatchCrls(crls, watchedCrls(running));
  const plan = async () => {
    await crls.disclose();
    await hosts.discover();
    return planRestMs;
  };
  const forget = async () => {
    const forgotten = await crls.forget();
    if (forgotten > 0) running.log.info({ lists: forgotten }, 'revocation lists forgotten');
    return forgetRestMs;
  };
  const rounds = { planCrls: plan, watchCrls: async () => await watch.run(), forgetCrls: forget };
  for (const [name, round] of Object.entries(rounds)) repeatedly(running, name, round);
  fetchLists(crls, hosts, running, options);
}

function fetchLists(
  crls: CtCrls,
  hosts: CrlHosts,
  running: RunningProcess,
  options: RevocationOptions,
): void {
  const { guard, userAgent, timeoutMs, mostOctets, leaseMs, turnMs, gapMs, graceMs } = options;
  const stopping = new AbortController();
  const turn = new CrlTurn({
    ...{ crls, hosts, mostOctets, leaseMs, turnMs, gapMs, graceMs },
    fetching: { guard, userAgent, timeoutMs, now: Date.now },
    events: observeCrls(running),
    memory: new MemoryBudget(options.memoryOctets),
    intervals: { minMs: options.minIntervalMs, maxMs: options.maxIntervalMs },
    now: Date.now,
    random: Math.random,
  });
  const round = async () => {
    const lease = await hosts.lease(leaseMs);
    if (lease === null) return idleMs;
    await turn.run(lease, stopping.signal);
    return 0;
  };
  const onError = (error: unknown) =>
    running.log.warn({ err: error }, 'no host with revocation lists can be asked');
  const places = Array.from({ length: options.places }, () => repeat(round, { afterErrorMs, onError }));
  running.opened('fetchCrls', async () => {
    stopping.abort(new Error('the process stops'));
    await Promise.all(places.map(async (each) => await each.stop()));
  });
}

function repeatedly({ log, opened }: RunningProcess, name: string, round: () => Promise<number>): void {
  const onError = (error: unknown) => log.warn({ round: name, err: error }, 'round failed; it is repeated');
  const repeating = repeat(round, { afterErrorMs, onError });
  opened(name, async () => await repeating.stop());
}

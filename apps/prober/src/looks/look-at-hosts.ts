import { isIP } from 'node:net';
import { DnsServers, lookUpUntil } from '@certwright/dns-lookup';
import {
  type AddressLook,
  type HostLook,
  type Look,
  type LookQuestion,
  lookWithinMs,
  maxCertificateBytesOfLook,
  type NotPresented,
  type NotPresentedReason,
  notPresentedReasons,
} from '@certwright/endpoint-checks';
import {
  AddressGuard,
  OutboundFault,
  type OutboundFaultKind,
  presentedCertificates,
} from '@certwright/outbound';
import { RunningProcess } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import { CertificatesOfLook } from './certificates-of-look';
import { ConnectionPlaces } from './connection-places';
import { readLookQuestion } from './look-question';
import { type LookedUpHost, lookUpHost } from './look-up-host';
import { selectAddresses } from './select-addresses';

/** Maximum share of the total time for resolving addresses: a slow resolver must leave time for the servers. */
const lookUpShare = 0.5;

/** Look-ups, and then addresses, of one look at a time. */
const maxConcurrent = 16;

/** Maximum bytes read from one server: about forty certificates of usual size. */
const maxBytes = 65_536;

/** Many sites reject user agents that are not Mozilla-compatible. */
const headers = {
  'user-agent': 'Mozilla/5.0 (compatible; Certwright-Prober; checks the certificate of a monitored domain)',
  accept: '*/*',
};

/** One connection to make. */
interface Target {
  readonly host: string;
  readonly address: string;
  readonly port: number;
}

type Result = AddressLook['result'];

/** Connects to every address of some hosts, as a visitor does. */
@Injectable()
export class LookAtHosts {
  /** Milliseconds: in all, and for one connection and its handshake. */
  times = { withinMs: lookWithinMs, connectionWithinMs: 5_000 };
  private readonly log: RunningProcess['log'];
  private readonly addresses: Counter<'result'>;
  private readonly durations: Histogram;
  private readonly waits: Histogram;

  constructor(
    private readonly guard: AddressGuard,
    @Inject(DnsServers) private readonly resolvers: Pick<DnsServers, 'each'>,
    private readonly places: ConnectionPlaces,
    { log, metrics: { registry } }: RunningProcess,
  ) {
    this.log = log;
    this.addresses = new Counter({
      name: 'look_addresses_total',
      help: 'Addresses and ports of hosts that were looked at, by result',
      labelNames: ['result'] as const,
      registers: [registry],
    });
    this.durations = new Histogram({
      name: 'look_duration_seconds',
      help: 'Time from taking a question to its answer, all hosts included',
      buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20],
      registers: [registry],
    });
    this.waits = new Histogram({
      name: 'look_wait_seconds',
      help: 'Time that a connection waited because others occupied its address or network',
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 15],
      registers: [registry],
    });
    for (const result of ['presented', ...notPresentedReasons]) this.addresses.inc({ result }, 0);
  }

  /**
   * @param value a `LookQuestion`, unless the sender is not ours
   * @returns undefined for an unreadable question: a newer client gets no response, as if there were no prober yet
   */
  async respond(value: unknown): Promise<Look | undefined> {
    const question = readLookQuestion(value);
    if (question === null) {
      this.log.warn({}, 'a question about hosts cannot be read');
      return undefined;
    }
    const begunMs = performance.now();
    const passedMs = () => performance.now() - begunMs;
    const lookUp = lookUpUntil(this.resolvers, begunMs + this.times.withinMs * lookUpShare);
    const lookedUp = await mapConcurrently(question.hosts, maxConcurrent, ({ host }) =>
      lookUpHost(host, lookUp),
    );
    const targets = targetsOf(question, lookedUp);
    const certificates = new CertificatesOfLook(maxCertificateBytesOfLook);
    const results = new Map<Target, Result>();
    await within(this.times.withinMs - passedMs(), (signal) =>
      mapConcurrently(groupedByAddress(targets), maxConcurrent, async (group) => {
        for (const target of group)
          results.set(target, await this.#look(target, question, certificates, signal));
      }),
    );
    for (const result of results.values())
      this.addresses.inc({ result: result.kind === 'presented' ? result.kind : result.reason });
    this.durations.observe(passedMs() / 1_000);
    return { hosts: lookedUp.map((host) => hostLookOf(host, results)), certificates: certificates.list };
  }

  /** An internal error at one address must not affect the others. */
  async #look(
    target: Target,
    question: LookQuestion,
    certificates: CertificatesOfLook,
    signal: AbortSignal,
  ): Promise<Result> {
    try {
      return await this.#connect(target, question, certificates, signal);
    } catch (error) {
      const known = notPresented(error, signal);
      if (known !== null) return known;
      this.log.warn({ err: error }, 'an address could not be looked at');
      return internal('The test failed by a fault of ours.');
    }
  }

  async #connect(
    { host, address, port }: Target,
    { serverName, withHttpStatus }: LookQuestion,
    certificates: CertificatesOfLook,
    signal: AbortSignal,
  ): Promise<Result> {
    const begunMs = performance.now();
    const free = await this.places.take(this.guard.checkedAddress(address), signal);
    this.waits.observe((performance.now() - begunMs) / 1_000);
    try {
      const presented = await presentedCertificates(this.guard, {
        address,
        port,
        serverName: isIP(host) === 0 ? host : serverName,
        headRequest: withHttpStatus ? headers : null,
        timeoutMs: this.times.connectionWithinMs,
        maxBytes,
        signal,
      });
      const chain = certificates.add(presented.certificates);
      if (chain === null) return internal(tooManyCertificates);
      const { version, cipher, httpStatus } = presented;
      return { kind: 'presented', chain, version, cipher, httpStatus };
    } finally {
      free();
    }
  }
}

const tooManyCertificates = `The servers present more than ${maxCertificateBytesOfLook / 1_048_576} MiB of certificates in all. Ask for fewer hosts at once.`;

const internal = (problem: string): NotPresented => ({ kind: 'not_presented', reason: 'internal', problem });

function targetsOf({ hosts }: LookQuestion, lookedUp: readonly LookedUpHost[]): readonly Target[] {
  const portsOf = new Map(hosts.map(({ host, ports }) => [host, ports]));
  return selectAddresses(lookedUp).flatMap((each) =>
    (portsOf.get(each.host) ?? []).map((port) => ({ ...each, port })),
  );
}

/** One address has one connection at a time: hosts that share it must not occupy every turn of the look by waiting. */
function groupedByAddress(targets: readonly Target[]): readonly (readonly Target[])[] {
  const groups = new Map<string, Target[]>();
  for (const target of targets) {
    const group = groups.get(target.address);
    if (group === undefined) groups.set(target.address, [target]);
    else group.push(target);
  }
  return [...groups.values()];
}

function hostLookOf(
  { host, lookUp, addresses }: LookedUpHost,
  results: ReadonlyMap<Target, Result>,
): HostLook {
  const looks = [...results]
    .filter(([target]) => target.host === host)
    .map(([{ address, port }, result]) => ({ address, port, result }))
    .sort((a, b) => addresses.indexOf(a.address) - addresses.indexOf(b.address));
  const lookedAt = new Set(looks.map(({ address }) => address)).size;
  const firstOmitted = addresses[lookedAt];
  return {
    host,
    lookUp,
    addresses: looks,
    omitted: addresses.length - lookedAt,
    ...(firstOmitted === undefined ? {} : { firstOmitted }),
  };
}

/** Passes a signal that aborts at the timeout; the work decides whether it ends then. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timeIsUp = new AbortController();
  const timer = setTimeout(() => timeIsUp.abort(), ms);
  try {
    return await work(timeIsUp.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs the work for all items, in order, with limited concurrency. */
async function mapConcurrently<Item, Done>(
  items: readonly Item[],
  max: number,
  work: (item: Item) => Promise<Done>,
): Promise<Done[]> {
  const done: Done[] = [];
  const queue = items.entries();
  const takeTurns = async (): Promise<void> => {
    for (const [at, item] of queue) done[at] = await work(item);
  };
  await Promise.all(Array.from({ length: max }, takeTurns));
  return done;
}

/** Hosts are looked up before, and no response is read: the last three cannot occur. */
const reasonOf = {
  refused_address: 'refused_address',
  connect: 'connect',
  tls: 'handshake',
  timeout: 'timeout',
  too_large: 'too_large',
  bad_url: 'internal',
  dns: 'internal',
  protocol: 'internal',
} as const satisfies Record<OutboundFaultKind, NotPresentedReason>;

/**
 * Why nothing was presented, as a message for the customer.
 *
 * @param signal of the whole look; once its time is up, that is the reason
 * @returns null for an internal error
 */
function notPresented(error: unknown, signal: AbortSignal): NotPresented | null {
  if (signal.aborted && error === signal.reason)
    return { kind: 'not_presented', reason: 'busy', problem: 'There was no response in time.' };
  if (!(error instanceof OutboundFault)) return null;
  const reason = reasonOf[error.kind];
  // The network matters only to the operator of the prober: it may differ from the customer's.
  const problem = reason === 'refused_address' ? 'This is not a public address.' : error.message;
  return { kind: 'not_presented', reason, problem };
}

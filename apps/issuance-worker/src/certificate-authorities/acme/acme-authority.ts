import { acmeReference, type BeforeOrder, problemOf, type ReplacedCertificate } from './acme-orders';
import {
  type AcmeOrderEntity,
  type CertificateAuthorityEntity,
  type Lease,
  type Tx,
} from '@certwright/core-schema';
import { type CaLimitBuckets } from '../../ca-limits/ca-limit-buckets';
import { AcmeFault, isPassing, isProblem } from '../../acme';
import { authorizationNeeds } from '../../preflight/limit-needs';
import type { PreflightQuestion, PreflightVerdict } from '../../preflight/preflight';
import type {
  CertificateRequest,
  Collected,
  Refusal,
  RevocationOrder,
  Submitted,
} from '../certificate-authority';
import { AuthorityDown, type AuthorityHealth, type DownAuthority, isDown } from '../health/authority-health';
import { SlowRuns } from '../health/slow-runs';
import { trialAt } from '../health/trial';
import type { AcmeAccounts, AcmeSession } from './acme-accounts';
import { type AcmeServers, exchangeMs, spareMs } from './acme-servers';
import { namesToProve } from './order-challenges';
import { type AboutOrder, givenUp, OrderFaults, unusable } from './order-faults';
import { errorOfOrder, outcomeOfFault } from './order-outcomes';
import { maxRunMs, OrderRun, type OrderRunPorts } from './order-run';

export interface AcmePorts extends OrderRunPorts {
  readonly accounts: AcmeAccounts;
  readonly servers: Pick<AcmeServers, 'follow' | 'now'>;
  readonly health: AuthorityHealth;
  /** Max attempts with a slow exchange at one CA before other attempts have to wait. */
  readonly maxSlow: number;
  readonly buckets: Pick<CaLimitBuckets, 'take' | 'spend' | 'giveBack' | 'drain'>;
  readonly preflight: (question: PreflightQuestion) => Promise<PreflightVerdict>;
}

/** A CA of a product, with its profile name. */
export interface Candidate {
  readonly authority: CertificateAuthorityEntity;
  readonly profile: string | null;
  /** The certificate that the issuance replaces; null: none. */
  readonly replaced: ReplacedCertificate | null;
}

/** A stored order, and the account that places it. */
class BegunOrder {
  constructor(
    readonly session: AcmeSession,
    readonly stored: AcmeOrderEntity,
  ) {}
}

/** Outcome of a request at one CA. */
export type SubmitResult =
  | Extract<Submitted, { readonly kind: 'submitted' }>
  | ({ readonly kind: 'refused' } & Omit<Refusal, 'authority'>);

/** ms. */
const slowRestMs = 3_000;

/** Time for checks of CAA records and limits, ms. */
const preflightMs = 10_000;

/** ACME CAs, each with our one account there. */
export class AcmeAuthority {
  private readonly faults: OrderFaults;
  private readonly slow: SlowRuns;
  /** When each CA accepts revocations again, by its Retry-After. */
  private readonly revocationsAt = new Map<string, Date>();

  constructor(private readonly ports: AcmePorts) {
    this.faults = new OrderFaults(ports);
    this.slow = new SlowRuns(ports.maxSlow);
  }

  get health(): AuthorityHealth {
    return this.ports.health;
  }

  /** What exists before an order of the issuance begins. */
  async before({ issuanceId }: Lease): Promise<BeforeOrder> {
    return await this.ports.orders.before(issuanceId);
  }

  /** Whether the order was finalized, or its request to finalize may have reached the CA. */
  async mayHaveIssued(reference: string): Promise<boolean> {
    const order = await this.ports.orders.ofReference(reference);
    return order !== null && order.state !== 'failed' && order.finalizedAt !== null;
  }

  /** Stores the wanted order first. Sends no request to the CA, except to create a missing account. */
  async submit(
    { authority, profile, replaced }: Candidate,
    request: CertificateRequest,
  ): Promise<SubmitResult> {
    this.ports.servers.follow(request.clock);
    let session: AcmeSession;
    try {
      session = await this.ports.accounts.at(authority, async () => await request.hold(exchangeMs));
    } catch (error) {
      if (!(error instanceof AcmeFault)) throw error;
      return await this.withoutAccount(authority, error, request);
    }
    const { accountId, approvals, lease, product } = request;
    await request.hold(preflightMs);
    const { names, unprovable } = await this.namesToProve(session, request);
    if (unprovable.length > 0) return notProvable(authority.name, unprovable);
    const replaces = replacedAt(session, replaced);
    await request.hold(preflightMs);
    const wanted = { authority: authority.name, caAccountId: session.row.id, profile, replaces };
    const keepForMs = exchangeMs + spareMs;
    let stored: Extract<Submitted, { kind: 'submitted' }> | null = null;
    const store = async (tx: Tx | null) => {
      const requestedMs = performance.now();
      const { order, isKept } = await this.ports.orders.begin(lease, wanted, { approvals, keepForMs }, tx);
      const reference = acmeReference(order.id);
      const begun = new BegunOrder(session, order);
      const extended = { requestedMs, forMs: keepForMs };
      stored = { kind: 'submitted', reference, ...(isKept && { isStored: true, extended, begun }) };
    };
    const verdict = await this.ports.preflight({
      authority,
      profile,
      accountId,
      caAccountId: session.row.id,
      accountUri: session.account.url,
      product,
      names,
      replaces: replaces !== null,
      store,
    });
    if (verdict.kind === 'wait')
      return { kind: 'refused', error: verdict.error, until: verdict.until, final: false };
    if (verdict.kind === 'refused') {
      const final = verdict.error.code === 'names_not_allowed';
      return { kind: 'refused', error: verdict.error, until: null, final };
    }
    if (stored === null) throw new Error('a wanted order was not stored');
    return stored;
  }

  private async namesToProve(
    { account, authority }: AcmeSession,
    { dnsNames, approvals }: CertificateRequest,
  ) {
    const { persistent } = this.ports;
    const granted = await persistent?.granted(dnsNames, account.url, authority.caaDomains);
    return namesToProve(approvals, granted ?? new Set());
  }

  async collect(reference: string, request: CertificateRequest): Promise<Collected> {
    this.ports.servers.follow(request.clock);
    const { session, stored } = await this.begunOrder(reference, request);
    if (stored.state === 'failed') return overBefore(stored);
    const run = new OrderRun(this.ports, session, stored, request);
    const yieldsAtMs = performance.now() + maxRunMs;
    for (;;) {
      const collected = await this.attempt(run, { session, stored, request });
      const mayPause =
        collected.kind === 'pending' && collected.error === null && performance.now() < yieldsAtMs;
      if (!mayPause || !(await request.pause(collected.until))) {
        if (collected.kind === 'pending') await run.store();
        return collected;
      }
    }
  }

  private async begunOrder(reference: string, { begun, lease }: CertificateRequest): Promise<BegunOrder> {
    if (begun instanceof BegunOrder) return begun;
    const stored = await this.ports.orders.ofReference(reference);
    if (stored === null || stored.issuanceId !== lease.issuanceId)
      throw new Error(`no order of issuance ${lease.issuanceId} is stored under ${reference}`);
    return new BegunOrder(await this.ports.accounts.byId(stored.caAccountId), stored);
  }

  /** One step after the other, until the order ends or waits. */
  private async attempt(run: OrderRun, { session, stored, request }: AboutOrder): Promise<Collected> {
    const { name } = session.authority;
    const down = await this.ports.health.downNow(name);
    if (down !== null && isHeldBack(down, run.stored, request)) {
      await run.store();
      return await this.faults.heldBack(down, run.stored, request);
    }
    if (request.trial === null && this.isCrowded(name)) return behindSlow(request.clock());
    try {
      return await this.slow.beside(name, run, async () => await this.run(run, session, request));
    } catch (error) {
      if (!(error instanceof AcmeFault)) throw error;
      await run.store();
      return await this.faults.settle(error, run, { session, stored, request });
    }
  }

  /** Whether another attempt would only take capacity from orders of other CAs. */
  private isCrowded(authority: string): boolean {
    const { slow, ports } = this;
    return slow.areTooMany(authority) || (slow.isBusy(authority) && ports.health.isSuspect(authority));
  }

  /**
   * Revokes with the ordering account or its successor (RFC 8555, section 7.6). A reason that the CA rejects is left
   * out.
   *
   * @throws AuthorityDown
   */
  async revoke(reference: string, { leaf, reason }: RevocationOrder): Promise<void> {
    const order = await this.ports.orders.ofReference(reference);
    if (order === null) throw new Error(`no order is stored under ${reference}`);
    const { health, servers } = this.ports;
    const session = await this.ports.accounts.standingFor(order.caAccountId);
    const { authority, account } = session;
    const restsUntil = this.revocationsAt.get(authority.name);
    if (restsUntil !== undefined && restsUntil > servers.now()) throw new AuthorityDown(authority.name);
    const isTrial = isDown(authority) && authority.downFor === 'everything';
    if (isTrial && !(await health.claim(authority, servers.now()))) throw new AuthorityDown(authority.name);
    try {
      await account.revoke(leaf, reason);
    } catch (error) {
      const retryAt = error instanceof AcmeFault && error.kind === 'rate_limited' ? error.retryAt : null;
      const notBefore = health.notBefore(retryAt, servers.now());
      if (notBefore !== null) this.revocationsAt.set(authority.name, notBefore);
      // A refusal shows as well that the CA is up.
      const isRefusal = error instanceof AcmeFault && error.problem !== null && !isPassing(error);
      if (isTrial && isRefusal) await health.trialOf(authority.name).passed();
      const isDenied = isProblem(error, 'accountDoesNotExist') || isProblem(error, 'unauthorized');
      const { accounts } = this.ports;
      if (isDenied && !(await accounts.keyChanges(session))) await accounts.lost(session, servers.now());
      if (reason === 0 || !isProblem(error, 'badRevocationReason')) throw error;
      await account.revoke(leaf, 0);
    }
    if (isTrial) await health.trialOf(authority.name).passed();
  }

  private async run(run: OrderRun, session: AcmeSession, request: CertificateRequest): Promise<Collected> {
    const end = await run.run();
    await this.ports.accounts.used(session);
    const { authority } = session;
    this.ports.health.served(authority.name);
    await trialAt(request.trial, authority.name)?.passed();
    switch (end.kind) {
      case 'pending':
        return end;
      case 'issued':
        return { ...end, issued: { ...end.issued, store: async (tx) => await run.issued(tx) } };
      case 'rootless': {
        await run.issued(null);
        return unusable(authority.name, `its chain leads to ${end.topmost}, which is not a trusted root`);
      }
      case 'failed': {
        const { error, final } = errorOfOrder(authority.name, end.failed);
        await this.ports.orders.failed(request.lease, run.stored.id, error.outcome);
        await run.withdraw();
        // Count failed authorizations here too, before the CA reports the limit.
        for (const need of authorizationNeeds(
          end.failed.names.map(({ dnsName }) => dnsName),
          authority.limits,
        ))
          await this.ports.buckets.take(session.row.id, [need], request.accountId);
        if (error.code === 'caa_forbids') return givenUp(authority.name, error, null, false);
        return { kind: 'rejected', error, until: null, final };
      }
    }
  }

  private async withoutAccount(
    { name }: CertificateAuthorityEntity,
    fault: AcmeFault,
    request: CertificateRequest,
  ): Promise<SubmitResult> {
    const { health } = this.ports;
    const now = request.clock();
    const trial = trialAt(request.trial, name);
    trial?.failed();
    const outcome = outcomeOfFault(name, fault);
    const passing = { problem: outcome, retryAt: fault.retryAt };
    const down = isPassing(fault)
      ? await health.stalled(name, passing, now, trial !== null)
      : await health.withoutAccount(name, passing, now);
    if (down !== null) return { kind: 'refused', ...health.refusal(down, now) };
    return {
      kind: 'refused',
      error: { code: 'ca_unavailable', outcome },
      until: health.notBefore(fault.retryAt, now),
      final: false,
      unavailable: 'stalled',
    };
  }
}

/**
 * Sent only if the CA has renewal information, by the account that ordered the replaced certificate (RFC 9773,
 * section 5).
 */
function replacedAt({ authority, row }: AcmeSession, replaced: ReplacedCertificate | null): string | null {
  const isSame = replaced?.authority === authority.name && replaced.caAccountId === row.id;
  return isSame ? replaced.ariId : null;
}

/** Whether requests about the order are suspended. Accepted orders continue while only new ones are refused. */
function isHeldBack(
  authority: DownAuthority,
  { state }: AcmeOrderEntity,
  { trial }: CertificateRequest,
): boolean {
  if (trial?.authority === authority.name) return false;
  return authority.downFor === 'everything' || state === 'wanted';
}

/**
 * Waits until slow requests of other orders have ended; with a random delay, so that orders do not return together.
 */
function behindSlow(now: Date): Collected {
  return {
    kind: 'pending',
    until: new Date(now.getTime() + slowRestMs * (0.75 + Math.random() / 2)),
    error: null,
  };
}

function notProvable(authority: string, dnsNames: readonly string[]): SubmitResult {
  const outcome = { code: 'ca_needs_other_approval', authority, dnsNames } as const;
  return { kind: 'refused', error: { code: 'authorization_failed', outcome }, until: null, final: false };
}

/** The order has ended, but a crash prevented the issuance from recording it. */
function overBefore(order: AcmeOrderEntity): Collected {
  const outcome = problemOf(order) ?? { code: 'ca_attempt_ended' as const, authority: order.authority };
  return { kind: 'rejected', error: { code: 'ca_rejected', outcome }, until: null, final: false };
}

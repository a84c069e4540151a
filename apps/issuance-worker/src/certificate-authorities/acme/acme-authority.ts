import { acmeReference, problemOf } from './acme-orders';
import { type AcmeOrderEntity, type CertificateAuthorityEntity, type Lease } from '@certwright/core-schema';
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
import { exchangeMs } from './acme-servers';
import { namesToProve } from './order-challenges';
import { givenUp, OrderFaults, unusable } from './order-faults';
import { errorOfOrder, outcomeOfFault } from './order-outcomes';
import { OrderRun, type OrderRunPorts } from './order-run';

export interface AcmePorts extends OrderRunPorts {
  readonly accounts: AcmeAccounts;
  readonly health: AuthorityHealth;
  /** Max attempts with a slow exchange at one CA before other attempts have to wait. */
  readonly maxSlow: number;
  readonly buckets: Pick<CaLimitBuckets, 'take' | 'giveBack' | 'drain'>;
  readonly preflight: (question: PreflightQuestion) => Promise<PreflightVerdict>;
}

/** A CA of a product, with its profile name. */
export interface Candidate {
  readonly authority: CertificateAuthorityEntity;
  readonly profile: string | null;
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

  constructor(private readonly ports: AcmePorts) {
    this.faults = new OrderFaults(ports);
    this.slow = new SlowRuns(ports.maxSlow);
  }

  get health(): AuthorityHealth {
    return this.ports.health;
  }

  /** The reference of the issuance's order that has not failed; null: none. */
  async begun({ issuanceId }: Lease): Promise<string | null> {
    const standing = await this.ports.orders.standing(issuanceId);
    return standing === null ? null : acmeReference(standing.id);
  }

  /** Stores the wanted order first. Sends no request to the CA, except to create a missing account. */
  async submit({ authority, profile }: Candidate, request: CertificateRequest): Promise<SubmitResult> {
    let session: AcmeSession;
    try {
      session = await this.ports.accounts.at(authority, async () => await request.hold(exchangeMs));
    } catch (error) {
      if (!(error instanceof AcmeFault)) throw error;
      return await this.withoutAccount(authority, error, request);
    }
    const { accountId, lease, product } = request;
    await request.hold(preflightMs);
    const { names, unprovable } = await this.namesToProve(session, request);
    if (unprovable.length > 0) return notProvable(authority.name, unprovable);
    const replaces = await this.replacedAt(session, lease);
    await request.hold(preflightMs);
    const verdict = await this.ports.preflight({
      authority,
      profile,
      accountId,
      caAccountId: session.row.id,
      accountUri: session.account.url,
      product,
      names,
      replaces: replaces !== null,
    });
    if (verdict.kind === 'wait')
      return { kind: 'refused', error: verdict.error, until: verdict.until, final: false };
    if (verdict.kind === 'refused') {
      const final = verdict.error.code === 'names_not_allowed';
      return { kind: 'refused', error: verdict.error, until: null, final };
    }
    const wanted = { authority: authority.name, caAccountId: session.row.id, profile, replaces };
    const order = await this.ports.orders.begin(lease, wanted);
    return { kind: 'submitted', reference: acmeReference(order.id) };
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
    const stored = await this.ports.orders.ofReference(reference);
    if (stored === null || stored.issuanceId !== request.lease.issuanceId)
      throw new Error(`no order of issuance ${request.lease.issuanceId} is stored under ${reference}`);
    if (stored.state === 'failed') return overBefore(stored);
    const session = await this.ports.accounts.byId(stored.caAccountId);
    const { authority } = session;
    if (isHeldBack(authority, stored, request)) return await this.faults.heldBack(authority, stored, request);
    if (request.trial === null && this.isCrowded(authority.name)) return behindSlow(request.clock());
    const run = new OrderRun(this.ports, session, stored, request);
    try {
      return await this.slow.beside(
        authority.name,
        run,
        async () => await this.run(run, session, stored, request),
      );
    } catch (error) {
      if (!(error instanceof AcmeFault)) throw error;
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
    const { health } = this.ports;
    const { authority, account } = await this.ports.accounts.standingFor(order.caAccountId);
    const isTrial = isDown(authority) && authority.downFor === 'everything';
    if (isTrial && !(await health.claim(authority, new Date()))) throw new AuthorityDown(authority.name);
    try {
      await account.revoke(leaf, reason);
    } catch (error) {
      if (reason === 0 || !isProblem(error, 'badRevocationReason')) throw error;
      await account.revoke(leaf, 0);
    }
    if (isTrial) await health.trialOf(authority.name).passed();
  }

  private async run(
    run: OrderRun,
    session: AcmeSession,
    stored: AcmeOrderEntity,
    request: CertificateRequest,
  ): Promise<Collected> {
    const end = await run.run();
    const { authority } = session;
    this.ports.health.served(authority.name);
    await trialAt(request.trial, authority.name)?.passed();
    switch (end.kind) {
      case 'pending':
        return end;
      case 'issued':
        await run.withdraw();
        return end;
      case 'rootless': {
        await run.withdraw();
        return unusable(authority.name, `its chain leads to ${end.topmost}, which is not a trusted root`);
      }
      case 'failed': {
        const { error, final } = errorOfOrder(authority.name, end.failed);
        await this.ports.orders.failed(request.lease, stored.id, error.outcome);
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
    const down = isPassing(fault)
      ? await health.stalled(name, { problem: outcome, retryAt: fault.retryAt }, now, trial !== null)
      : await health.withoutAccount(name, outcome);
    if (down !== null) return { kind: 'refused', ...health.refusal(down, now) };
    return {
      kind: 'refused',
      error: { code: 'ca_unavailable', outcome },
      until: health.notBefore(fault.retryAt, now),
      final: false,
      unavailable: 'stalled',
    };
  }

  /**
   * Sent only if the CA has renewal information, by the account that ordered the replaced certificate (RFC 9773,
   * section 5).
   */
  private async replacedAt({ authority, row }: AcmeSession, { issuanceId }: Lease): Promise<string | null> {
    const replaced = await this.ports.orders.replacedBy(issuanceId);
    const isSame = replaced?.authority === authority.name && replaced.caAccountId === row.id;
    return isSame ? replaced.ariId : null;
  }
}

/** Whether requests about the order are suspended. Accepted orders continue while only new ones are refused. */
function isHeldBack(
  authority: CertificateAuthorityEntity,
  { state }: AcmeOrderEntity,
  { trial }: CertificateRequest,
): authority is DownAuthority {
  if (!isDown(authority) || trial?.authority === authority.name) return false;
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

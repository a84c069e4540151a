import type { IssuanceError, IssuanceErrorCode } from '@certwright/issuance';
import type { AcmeOrderEntity } from '@certwright/core-schema';
import type { AcmeOrders } from './acme-orders';
import type { CaLimitBuckets } from '../../ca-limits/ca-limit-buckets';
import { AcmeFault, isProblem } from '../../acme';
import { limitNeeds } from '../../preflight/limit-needs';
import type { CertificateRequest, Collected, Refusal } from '../certificate-authority';
import type { AuthorityHealth, DownAuthority } from '../health/authority-health';
import { trialAt } from '../health/trial';
import type { AcmeAccounts, AcmeSession } from './acme-accounts';
import { exchangeMs } from './acme-servers';
import { type FaultVerdict, classifyFault } from './classify-fault';
import { limitReachedBy } from './limit-reached';
import { stageOf } from './order-progress';
import { outcomeOfFault } from './order-outcomes';
import type { OrderRun } from './order-run';

export interface FaultPorts {
  readonly orders: Pick<AcmeOrders, 'failed' | 'lost'>;
  readonly accounts: Pick<AcmeAccounts, 'keyChanges' | 'lost'>;
  readonly health: AuthorityHealth;
  readonly buckets: Pick<CaLimitBuckets, 'giveBack' | 'drain'>;
}

export interface AboutOrder {
  readonly session: AcmeSession;
  readonly stored: AcmeOrderEntity;
  readonly request: CertificateRequest;
}

/** The request was not carried out, with or without a problem document. */
const overloaded = 503;

/** Retry delay during a key change, when requests may be signed with the wrong key, ms. */
const keyChangeRestMs = 5_000;

/** Handles failed exchanges about an order: stores, counts and reports the outcome. */
export class OrderFaults {
  constructor(private readonly ports: FaultPorts) {}

  /** @throws LeaseLost */
  async settle(said: AcmeFault, run: OrderRun, about: AboutOrder): Promise<Collected> {
    const { session, stored, request } = about;
    const now = request.clock();
    const ours = await this.faultOfAccount(said, about);
    if (ours === 'key_changes')
      return { kind: 'pending', until: new Date(now.getTime() + keyChangeRestMs), error: null };
    const fault = ours === null ? said : asUnknownAccount(said);
    if (ours === 'ended') {
      const error = errorOf('ca_unavailable', session, fault);
      await this.ports.orders.failed(request.lease, stored.id, error.outcome);
      return { kind: 'rejected', error, until: null, final: false };
    }
    const hasOthers = request.product.authorities.length > 1;
    const { failures } = request;
    const stalledBefore = request.stalledSince !== null;
    const verdict = classifyFault(fault, { ...run.doing, failures, stalledBefore, hasOthers, now });
    if (verdict.kind !== 'stalled') {
      this.ports.health.served(session.authority.name);
      await trialAt(request.trial, session.authority.name)?.passed();
    }
    return await this.carryOut(verdict, fault, run, about);
  }

  /** The CA is down: the order moves to another CA if that costs nothing, or waits. @throws LeaseLost */
  async heldBack(
    down: DownAuthority,
    stored: AcmeOrderEntity,
    request: CertificateRequest,
  ): Promise<Collected> {
    const refusal = this.ports.health.refusal(down, request.clock());
    const stage = stageOf(stored);
    const leaves = stage === 'wanted' || (stage === 'open' && request.product.authorities.length > 1);
    if (!leaves) return { kind: 'down', ...refusal };
    await this.ports.orders.failed(request.lease, stored.id, refusal.error.outcome);
    return { kind: 'given_up', refusal };
  }

  private async stalled(
    leaves: boolean,
    fault: AcmeFault,
    run: OrderRun,
    { session, stored, request }: AboutOrder,
  ): Promise<Collected> {
    const { health, orders } = this.ports;
    const { name } = session.authority;
    const trial = trialAt(request.trial, name);
    trial?.failed();
    const now = request.clock();
    const down = await health.stalled(
      name,
      { problem: outcomeOfFault(name, fault), retryAt: fault.retryAt },
      now,
      trial !== null,
    );
    const refusal =
      down === null
        ? stalledRefusal(session, fault, health.notBefore(fault.retryAt, now))
        : health.refusal(down, now);
    const { error, until } = refusal;
    if (!leaves)
      return down === null || until === null
        ? { kind: 'stalled', error, until }
        : { kind: 'down', authority: name, error, until };
    await orders.failed(request.lease, stored.id, error.outcome);
    await this.settleLimits(null, fault, run, { session, stored, request });
    await run.withdraw();
    return { kind: 'given_up', refusal };
  }

  private async carryOut(
    verdict: FaultVerdict,
    fault: AcmeFault,
    run: OrderRun,
    { session, stored, request }: AboutOrder,
  ): Promise<Collected> {
    const { authority } = session;
    switch (verdict.kind) {
      case 'wait':
        return { kind: 'pending', until: verdict.until, error: errorOf('rate_limited', session, fault) };
      case 'stalled':
        return await this.stalled(verdict.leaves, fault, run, { session, stored, request });
      case 'certificate_lost':
        return await this.certificateLost(fault, run, { session, stored, request });
      case 'resume':
        return { kind: 'unavailable', error: errorOf('ca_unavailable', session, fault) };
      case 'unusable':
        return unusable(authority.name, fault.message);
      case 'over': {
        const error = errorOf(verdict.code, session, fault);
        await this.ports.orders.failed(request.lease, stored.id, error.outcome);
        await run.withdraw();
        return { kind: 'rejected', error, until: null, final: verdict.final };
      }
      case 'elsewhere': {
        const error = errorOf(verdict.code, session, fault);
        await this.ports.orders.failed(request.lease, stored.id, error.outcome);
        await this.settleLimits(verdict.until, fault, run, { session, stored, request });
        await run.withdraw();
        return givenUp(authority.name, error, verdict.until, verdict.final);
      }
    }
  }

  /** Requested again at once, but not twice: each certificate counts against the CA's limits. */
  private async certificateLost(
    fault: AcmeFault,
    run: OrderRun,
    { session, stored, request }: AboutOrder,
  ): Promise<Collected> {
    const { name } = session.authority;
    const detail = `it has issued the certificate, but does not return it: ${fault.message.replace(/\.$/, '')}`;
    const outcome = { code: 'ca_unreachable', authority: name, detail } as const;
    const error = { code: 'ca_unavailable', outcome } as const;
    const { certificateUrl } = run.stored;
    if (
      certificateUrl === null ||
      !(await this.ports.orders.lost(request.lease, stored.id, outcome, certificateUrl))
    )
      return { kind: 'unavailable', error };
    await run.withdraw();
    return { kind: 'rejected', error, until: request.clock(), final: false };
  }

  /** Keeps only what the CA has counted: requests that were sent and not refused. */
  private async settleLimits(
    until: Date | null,
    { problem, status, neverSent }: AcmeFault,
    { doing, stored }: OrderRun,
    { session, request }: AboutOrder,
  ): Promise<void> {
    const { authority, row } = session;
    const { buckets } = this.ports;
    const isRefused = until !== null || problem !== null || status === overloaded;
    if ((isRefused || neverSent) && doing.stage === 'wanted') {
      const taken = limitNeeds(request.dnsNames, authority.limits, { replaces: stored.replaces !== null });
      await buckets.giveBack(row.id, taken, request.accountId);
    }
    const need =
      until === null ? null : limitReachedBy(problem?.detail ?? '', request.dnsNames, authority.limits);
    if (need !== null && until !== null) await buckets.drain(row.id, need, until);
  }

  /** Whether the error concerns our account or its key. */
  private async faultOfAccount(
    fault: AcmeFault,
    { session, request }: AboutOrder,
  ): Promise<'key_changes' | 'ended' | 'denied' | null> {
    const isDenied = isProblem(fault, 'accountDoesNotExist') || isProblem(fault, 'unauthorized');
    if (!isDenied && !isProblem(fault, 'malformed')) return null;
    await request.hold(exchangeMs);
    if (await this.ports.accounts.keyChanges(session)) return 'key_changes';
    if (!isDenied) return null;
    await request.hold(exchangeMs);
    return await this.ports.accounts.lost(session, request.clock());
  }
}

/** RFC 8555, section 7.3.6: a deactivated account is `unauthorized`, as a name without a proof is. */
function asUnknownAccount({ message, problem, status, retryAt }: AcmeFault): AcmeFault {
  const unknown = problem === null ? null : ({ ...problem, type: 'accountDoesNotExist' } as const);
  return new AcmeFault('problem', message, { problem: unknown, status, retryAt });
}

function stalledRefusal(session: AcmeSession, fault: AcmeFault, until: Date | null): Refusal {
  const error = errorOf('ca_unavailable', session, fault);
  return {
    authority: session.authority.name,
    error,
    until,
    final: false,
    unavailable: 'stalled',
  };
}

function errorOf(code: IssuanceErrorCode, { authority }: AcmeSession, fault: AcmeFault): IssuanceError {
  return { code, outcome: outcomeOfFault(authority.name, fault) };
}

export function givenUp(
  authority: string,
  error: IssuanceError,
  until: Date | null,
  final: boolean,
): Collected {
  return { kind: 'given_up', refusal: { authority, error, until, final } };
}

/** The issued certificate is not attached; an operator has to investigate. */
export function unusable(authority: string, detail: string): Collected {
  const outcome = { code: 'certificate_unusable', authority, detail } as const;
  return { kind: 'rejected', error: { code: 'certificate_mismatch', outcome }, until: null, final: true };
}

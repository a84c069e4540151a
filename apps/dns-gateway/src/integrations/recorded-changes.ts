import type { IntegrationOwner } from '@certwright/gateway-contract';
import { Problem } from '@certwright/errors';
import { RunningProcess } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import type { AuditIntent, AuditOutcome } from '../audit/audit-entry';
import { AuditLog } from '../audit/audit-log';
import { ProviderFault, type ProviderFaultKind } from '../providers/provider-fault';
import { problemOf } from './integration-access';
import { OwnAdditions } from '../audit/own-additions';
import { type RequestContext, within } from './request-bounds';

/** Whether the outcome of the change is unknown after this provider error. */
const resultOf = {
  auth_failed: 'failed',
  rejected: 'failed',
  rate_limited: 'failed',
  unavailable: 'unknown',
  conflict: 'failed',
  zone_not_found: 'failed',
} as const satisfies Record<ProviderFaultKind, AuditOutcome['result']>;

export type ChangeAudit = Pick<AuditLog, 'intent' | 'outcome'>;

/**
 * Records every change of a customer's zone: the intent on disk before it, the outcome after it. Handles no
 * credentials.
 */
@Injectable()
export class RecordedChanges {
  constructor(
    @Inject(AuditLog) private readonly audit: ChangeAudit,
    private readonly own: OwnAdditions,
    @Inject(RunningProcess) private readonly running: Pick<RunningProcess, 'log'>,
  ) {}

  async refused(intent: AuditIntent): Promise<void> {
    await this.#written(intent);
    this.running.log.warn({ ...lineOf(intent), reason: intent.reason }, 'a change was refused');
  }

  /**
   * @throws Problem `service_outage` when the intent cannot be written: nothing was changed; errors of the change;
   *   the signal's reason
   */
  async carryOut<T>(intent: AuditIntent, signal: AbortSignal, change: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const id = await this.#written(intent);
    this.own.intent(id, intent);
    let outcome: AuditOutcome = { result: 'done', problem: null };
    try {
      const made = await within(signal, change());
      if (made === 'existed') outcome = { result: 'existed', problem: null };
      return made;
    } catch (error) {
      outcome = outcomeOf(error, signal);
      throw error;
    } finally {
      this.own.outcome(id, outcome);
      await this.audit.outcome(id, outcome).catch((err: unknown) => {
        // An intent without an outcome means: unknown.
        this.running.log.error({ ...lineOf(intent), err }, 'the outcome of a change could not be written');
      });
      this.running.log.info({ ...lineOf(intent), ...outcome }, 'a change');
    }
  }

  async #written(intent: AuditIntent): Promise<string> {
    try {
      return await this.audit.intent(intent);
    } catch (err) {
      this.running.log.error(
        { ...lineOf(intent), err },
        'the audit log cannot be written, so nothing is changed',
      );
      throw new Problem(
        'service_outage',
        'Changes cannot be recorded at present, and none is made unrecorded.',
        {
          retryAfterS: 30,
        },
      );
    }
  }
}

/** Actor and integration: the part of an entry that every change has. */
export const changeOf = (
  { account, integration_id: integrationId, provider }: IntegrationOwner,
  { requestId, client }: RequestContext,
): Pick<AuditIntent, 'requestId' | 'client' | 'account' | 'integrationId' | 'provider'> => ({
  requestId,
  client,
  account,
  integrationId,
  provider,
});

function outcomeOf(error: unknown, signal: AbortSignal): AuditOutcome {
  const problem = problemOf(error, signal)?.code ?? 'internal_error';
  const isResponse = error instanceof ProviderFault && !signal.aborted;
  return { result: isResponse ? resultOf[error.kind] : 'unknown', problem };
}

/** Values of approval records are public. */
const lineOf = ({
  requestId,
  client,
  account,
  integrationId,
  provider,
  action,
  zone,
  fqdn,
  type,
  value,
}: AuditIntent) => ({
  request_id: requestId,
  client,
  account_id: account,
  integration_id: integrationId,
  provider,
  action,
  zone,
  fqdn,
  type,
  value,
});

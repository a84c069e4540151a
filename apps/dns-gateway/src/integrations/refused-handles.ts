import type { IntegrationOwner } from '@certwright/gateway-contract';
import { MemoryTokenBuckets, type Rate, RunningProcess, type TokenBuckets } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { AuditLog } from '../audit/audit-log';
import type { RequestContext } from './request-bounds';

/** Per client: a compromised backend that tries handles is visible and cannot fill the audit disk. */
const recorded: Rate = { ratePerS: 1 / 6, burst: 10 };

/** Records handles that do not open: swapped rows, a lost key, or attempts to use foreign handles. */
@Injectable()
export class RefusedHandles {
  /** Refusals per client since the last recorded one. */
  readonly #unrecorded = new Map<string, number>();

  constructor(
    @Inject(AuditLog) private readonly audit: Pick<AuditLog, 'handleRefused'>,
    @Inject(MemoryTokenBuckets) private readonly buckets: TokenBuckets,
    @Inject(RunningProcess) private readonly running: Pick<RunningProcess, 'log'>,
  ) {}

  /** Never throws: the caller gets the error of the handle. */
  async record(
    { account, integration_id: integrationId, provider }: IntegrationOwner,
    handle: 'integration' | 'record',
    { requestId, client }: RequestContext,
  ): Promise<void> {
    const { ok } = await this.buckets.take(client, { ...recorded, cost: 1 });
    const unrecorded = this.#unrecorded.get(client) ?? 0;
    // Clients are a closed list set by the operator, so the map is bounded.
    this.#unrecorded.set(client, ok ? 0 : unrecorded + 1);
    if (!ok) return;
    const entry = {
      requestId,
      client,
      account,
      integrationId,
      provider,
      handle,
      code: 'bad_handle',
      unrecorded,
    };
    this.running.log.warn(
      {
        request_id: requestId,
        client,
        account_id: account,
        integration_id: integrationId,
        provider,
        handle,
        code: entry.code,
        unrecorded,
      },
      'handle refused',
    );
    await this.audit.handleRefused(entry).catch((err: unknown) => {
      this.running.log.error({ request_id: requestId, err }, 'refused handle not written to the audit log');
    });
  }
}

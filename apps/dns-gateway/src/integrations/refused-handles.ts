import type { IntegrationOwner } from '@certwright/gateway-contract';
import { MemoryTokenBuckets, type Rate, RunningProcess, type TokenBuckets } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { AuditLog } from '../audit/audit-log';
import type { RequestContext } from './request-bounds';

/** Per client: a captured backend that tries handles is seen, and cannot fill the audit disk. */
const recorded: Rate = { ratePerS: 1 / 6, burst: 10 };

/** Records handles that do not open: a mix-up of rows, a lost key, or somebody who tries handles of others. */
@Injectable()
export class RefusedHandles {
  /** Per client, since the last one that was recorded. */
  readonly #unrecorded = new Map<string, number>();

  constructor(
    @Inject(AuditLog) private readonly audit: Pick<AuditLog, 'handleRefused'>,
    @Inject(MemoryTokenBuckets) private readonly buckets: TokenBuckets,
    @Inject(RunningProcess) private readonly running: Pick<RunningProcess, 'log'>,
  ) {}

  /** Never throws: the caller's error is that of the handle. */
  async record(
    { account, integration_id: integrationId, provider }: IntegrationOwner,
    handle: 'integration' | 'record',
    { requestId, client }: RequestContext,
  ): Promise<void> {
    const { ok } = await this.buckets.take(client, { ...recorded, cost: 1 });
    const unrecorded = this.#unrecorded.get(client) ?? 0;
    // Clients are a closed list of the operator's, so that the map is bounded.
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

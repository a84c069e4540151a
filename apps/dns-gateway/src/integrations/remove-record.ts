import type { GatewayMessages } from '@certwright/gateway-contract';
import { RunningProcess } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { ApiSchema } from '@nestjs/swagger';
import { HandleKeys } from '../handles/handle-keys';
import { Resealed } from '../wire/problem';
import { IntegrationAccess } from './integration-access';
import { changeOf, RecordedChanges } from './recorded-changes';
import type { RequestContext } from './request-bounds';

type Request = GatewayMessages['remove_record']['request'];

@ApiSchema({ name: 'Removed' })
export class RemovedSchema extends Resealed {}

/**
 * Removes the record that the record handle describes, and nothing else: the request cannot name a record. A record
 * that the gateway found rather than created stays.
 */
@Injectable()
export class RemoveRecord {
  constructor(
    private readonly access: IntegrationAccess,
    private readonly changes: RecordedChanges,
    private readonly handles: HandleKeys,
    @Inject(RunningProcess) private readonly running: Pick<RunningProcess, 'log'>,
  ) {}

  async remove(
    { record_handle: handle, ...integrated }: Request,
    context: RequestContext,
  ): Promise<RemovedSchema> {
    return await this.access.use(integrated, context, async (session): Promise<object> => {
      const { zone, record, existed } = this.handles.openRecord(integrated, handle);
      if (existed) {
        this.running.log.info(
          {
            request_id: context.requestId,
            account_id: integrated.account,
            fqdn: record.fqdn,
            type: record.type,
          },
          'record left in place; it existed before it was added',
        );
        return {};
      }
      await this.changes.carryOut(
        {
          ...changeOf(integrated, context),
          action: 'remove',
          zone: zone.name,
          ...record,
          decision: 'allowed',
          reason: null,
        },
        context.signal,
        () => session.remove(zone, record),
      );
      return {};
    });
  }
}

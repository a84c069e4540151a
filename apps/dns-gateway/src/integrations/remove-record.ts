import type { GatewayMessages } from '@certwright/gateway-contract';
import type { Logger } from '@certwright/service';
import type { HandleKeys } from '../handles/handle-keys';
import type { Asking } from './asking';
import { changeOf } from './change';
import type { IntegrationAccess } from './integration-access';
import type { RecordedChanges } from './recorded-changes';

type Message = GatewayMessages['remove_record'];

/**
 * Removes what a record handle describes, and nothing else: no part of the request says which record. A record that the
 * gateway found rather than created stays.
 */
export class RemoveRecord {
  constructor(
    private readonly access: IntegrationAccess,
    private readonly changes: RecordedChanges,
    private readonly handles: HandleKeys,
    private readonly log: Logger,
  ) {}

  async remove(
    { record_handle: handle, ...integrated }: Message['request'],
    asking: Asking,
  ): Promise<Message['answer']> {
    return await this.access.use(integrated, asking, async (session) => {
      const { zone, record, existed } = this.handles.openRecord(integrated, handle);
      if (existed) {
        this.log.info(
          {
            request_id: asking.requestId,
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
          ...changeOf(integrated, asking),
          action: 'remove',
          zone: zone.name,
          ...record,
          decision: 'allowed',
          reason: null,
        },
        asking.signal,
        () => session.remove(zone, record),
      );
      return {};
    });
  }
}

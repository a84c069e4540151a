import type { GatewayMessages } from '@certwright/gateway-contract';
import type { HandleKeys } from '../handles/handle-keys';
import type { Asking } from './asking';
import { changeOf } from './change';
import type { IntegrationAccess } from './integration-access';
import type { RecordedChanges } from './recorded-changes';

type Message = GatewayMessages['remove_record'];

/** Removes what a record handle describes, and nothing else: no part of the request says which record. */
export class RemoveRecord {
  constructor(
    private readonly access: IntegrationAccess,
    private readonly changes: RecordedChanges,
    private readonly handles: HandleKeys,
  ) {}

  async remove(
    { record_handle: handle, ...integrated }: Message['request'],
    asking: Asking,
  ): Promise<Message['answer']> {
    return await this.access.use(integrated, asking, async (session) => {
      const { zone, record } = this.handles.openRecord(integrated, handle);
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

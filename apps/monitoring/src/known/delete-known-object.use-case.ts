import { type HttpResponse, type CallerIdentity, emptyResponse, isObjectId } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { MonitoringChanges } from '../changes/monitoring-changes';
import type { KnownKind } from './known-kind';
import { KnownObjects, type KnownRow } from './known-objects.repository';

@Injectable()
export class DeleteKnownObject {
  constructor(
    private readonly changes: MonitoringChanges,
    private readonly known: KnownObjects,
  ) {}

  /** @throws Problem `not_found` */
  async run<Row extends KnownRow>(
    caller: CallerIdentity,
    { object, json, notFound }: KnownKind<Row>,
    id: string,
  ): Promise<HttpResponse> {
    if (!isObjectId(id)) throw notFound();
    return await this.changes.run(caller, async ({ tx, accountId, record }) => {
      const deleted = await this.known.delete<Row>(tx, object, accountId, id);
      if (deleted === null) throw notFound();
      await record({ object, name: id, action: 'deleted', before: json(deleted), after: null });
      return emptyResponse;
    });
  }
}

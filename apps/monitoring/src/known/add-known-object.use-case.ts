import { randomInt } from 'node:crypto';
import { type HttpResponse, type CallerIdentity, jsonResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { type AccountChange, MonitoringChanges } from '../changes/monitoring-changes';
import { maxKnownObjects } from '../wire/problems';
import type { KnownKind, NewKnownObject } from './known-kind';
import { KnownObjects, type KnownRow } from './known-objects.repository';

/** Positive, random, and exact as a JSON number. */
const ids = { min: 1, below: 2 ** 48 - 1 };

@Injectable()
export class AddKnownObject {
  constructor(
    private readonly changes: MonitoringChanges,
    private readonly known: KnownObjects,
  ) {}

  /** A repeated request finds the object of the first one. @throws Problem `conflict` when the account has the maximum number */
  async run<Row extends KnownRow>(
    caller: CallerIdentity,
    kind: KnownKind<Row>,
    added: NewKnownObject,
  ): Promise<HttpResponse> {
    return await this.changes.run(caller, async (change) => await this.add(change, kind, added));
  }

  /** As a part of another change. */
  async add<Row extends KnownRow>(
    { tx, accountId, record }: AccountChange,
    { object, json, tooMany }: KnownKind<Row>,
    { identity, note }: NewKnownObject,
  ): Promise<HttpResponse> {
    const found = await this.known.find<Row>(tx, object, accountId, identity);
    if (found !== null) {
      if (note === undefined || note === found.note) return jsonResponse(200, json(found));
      const [before, after] = [json(found), json({ ...found, note })];
      await this.known.setNote(tx, object, accountId, found.id, note);
      await record({ object, name: found.id, action: 'changed', before, after });
      return jsonResponse(200, after);
    }
    const id = String(randomInt(ids.min, ids.below));
    const values = { id, note: note ?? '', identity, max: maxKnownObjects };
    const added = await this.known.add<Row>(tx, object, accountId, values);
    if (added === null) throw tooMany();
    const after = json(added);
    await record({ object, name: id, action: 'created', before: null, after });
    return jsonResponse(201, after);
  }
}

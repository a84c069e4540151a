import { type HttpResponse, jsonResponse, pageOf } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import type { KnownKind, KnownQuery } from './known-kind';
import { KnownObjects, type KnownRow } from './known-objects.repository';

@Injectable()
export class RetrieveKnownObjects {
  constructor(
    private readonly known: KnownObjects,
    private readonly addresses: Addresses,
  ) {}

  async page<Row extends KnownRow>(
    accountId: string,
    { object, resource, json }: KnownKind<Row>,
    query: KnownQuery,
  ): Promise<HttpResponse> {
    const { after, limit } = query;
    const found = await this.known.page<Row>(object, accountId, { after, limit: limit + 1 });
    const { rows, headers } = pageOf(found, query, this.addresses.list(resource), ({ id }) => id);
    return jsonResponse(200, rows.map(json), headers);
  }
}

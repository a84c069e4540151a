import type { Problem } from '@certwright/errors';
import { After, isObjectId, Limit, maxPageSize } from '@certwright/service';
import type { Identity, KnownObject, KnownRow } from './known-objects.repository';

/** How known keys differ from known certificates. */
export interface KnownKind<Row extends KnownRow> {
  readonly object: KnownObject;
  /** Path of the list. */
  readonly resource: 'known_keys' | 'known_certs';
  readonly json: (row: Row) => object;
  readonly notFound: () => Problem;
  readonly tooMany: () => Problem;
}

/** A known object of a request. */
export interface NewKnownObject {
  readonly identity: Identity;
  /** Undefined: an object that exists keeps its note. */
  readonly note: string | undefined;
}

export class KnownQuery {
  @After(isObjectId, 'Id of the last object of the page before.')
  after: string | null = null;

  @Limit()
  limit = maxPageSize;
}

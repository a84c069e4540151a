import { issuanceAt, issuanceBodies, type IssuanceBody, type StoredIssuance } from '@certwright/ct-index';
import { Problem } from '@certwright/errors';
import type { IndexReader } from '../ct-index/index-readers';
import { readId } from '../wire/cursor';

/**
 * One issuance; also one that has expired, while it is kept.
 *
 * @param id as it stands in the address
 * @throws Problem `not_found`, `timeout`, `service_outage`
 */
export async function issuanceOf(reader: IndexReader, id: string): Promise<StoredIssuance> {
  const position = readId(id);
  const found = position === null ? null : await issuanceAt(reader, position);
  return found ?? notFound();
}

/** Its certificate, as `issuanceOf`. */
export async function bodyOf(reader: IndexReader, id: string): Promise<IssuanceBody> {
  const position = readId(id);
  const [found] = position === null ? [] : await issuanceBodies(reader, [position], 0);
  return found ?? notFound();
}

function notFound(): never {
  throw new Problem('not_found', 'There is no issuance with this id.');
}

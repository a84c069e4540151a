import { Problem } from '@certwright/errors';
import type { ArgumentMetadata, PipeTransform, Type } from '@nestjs/common';
import { isJsonObject, readMembers, unknownMember } from './read-members';

/** Max faults in one response. */
const maxFaults = 20;

/**
 * Reads a body or a query by the class of its parameter (see `readMembers`): `@Body(requestReading) order: OrderRequest`.
 * Unknown members of a body are faults; unknown parameters of a query are ignored.
 *
 * @throws Problem `bad_request` for a body, `bad_query` for a query, with one sub-error per fault
 */
export const requestReading: PipeTransform<unknown, object> = {
  transform(sent, { type, metatype }: ArgumentMetadata) {
    const isQuery = type === 'query';
    if (!isJsonObject(sent)) throw new Problem('bad_request', 'The body must be a JSON object.');
    const { value, faults, unknownMembers } = readMembers(metatype as Type<object>, sent);
    const all = isQuery ? faults : [...faults, ...unknownMembers.map(unknownMember)];
    if (all.length === 0) return value;
    const named = all.slice(0, maxFaults);
    if (!isQuery) throw Problem.ofFields(named);
    const fields = named.map(({ field }) => field).join(', ');
    throw new Problem('bad_query', `The query is not valid: see ${fields}.`, { faults: named });
  },
};

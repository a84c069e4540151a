import { type FieldFault, Problem } from '@certwright/errors';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Unknown members that are told one by one; they may be as many as a body holds. */
const mostUnknownMembers = 20;

/** @throws Problem `bad_request` when the body is no object */
export function readObject(body: unknown, what: string): JsonObject {
  if (isObject(body)) return body;
  throw new Problem('bad_request', `The body must be a JSON object: ${what}.`);
}

/** A mistyped member must not be lost silently. @param what such as "An order" */
export function unknownMembers(body: JsonObject, known: ReadonlySet<string>, what: string): FieldFault[] {
  const unknown = Object.keys(body).filter((member) => !known.has(member));
  return unknown.slice(0, mostUnknownMembers).map((member) => ({
    field: member.slice(0, 100).toWellFormed(),
    code: 'invalid_value',
    message: `${what} has no such member.`,
  }));
}

/** For a request that says everything by its address: no body, or an empty object. @throws Problem `bad_request` */
export function assertNothingAsked(body: unknown): void {
  if (body === undefined || body === null) return;
  const faults = unknownMembers(readObject(body, 'an empty one'), new Set(), 'This request');
  if (faults.length > 0) throw Problem.ofFields(faults);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

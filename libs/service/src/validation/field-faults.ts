import type { ValidationError } from 'class-validator';
import { type FieldFault, type FieldFaultCode, fieldFaultCodes, Problem } from '@certwright/errors';

/** A body of 256 KiB can have tens of thousands of faults. */
const maxFaults = 100;

/** Characters of a member's name that are repeated to the caller. */
const maxNameLength = 64;

/** A fault of one member. @template C the API's codes */
export type MemberFault<C extends string = FieldFaultCode> = Omit<FieldFault, 'code'> & { readonly code: C };

/** A fault that a reader found. Its field is the member, unless a member covers several fields. */
type ReaderFault<C extends string> = Omit<MemberFault<C>, 'field'> & Partial<Pick<MemberFault<C>, 'field'>>;

/** What the reader of a member returns in place of a value (see `ReadBy`). */
export class Unreadable<C extends string = FieldFaultCode> {
  constructor(readonly faults: readonly ReaderFault<C>[]) {}

  static because(message: string): Unreadable {
    return new Unreadable([{ code: 'invalid_value', message }]);
  }
}

/**
 * The faults that class-validator found. A rule names its code in `context: { code }`; without one it is
 * `missing_field` for a member that is absent, else `invalid_value`. The field is the member at the top; the message says
 * where in it the fault lies.
 */
export function faultsFrom<C extends string = FieldFaultCode>(
  errors: readonly ValidationError[],
): MemberFault<C>[] {
  const faults: MemberFault[] = [];
  for (const error of errors) collect(error, namedInPart(error.property), '', faults);
  // Readers and contexts give the codes of their API.
  return faults as unknown as MemberFault<C>[];
}

function collect(error: ValidationError, field: string, parentPath: string, faults: MemberFault[]): void {
  if (error.value instanceof Unreadable) {
    const { faults: found } = error.value as Unreadable;
    faults.push(...found.slice(0, maxFaults - faults.length).map((fault) => ({ field, ...fault })));
    return;
  }
  const path = pathOf(parentPath, error.property);
  for (const [rule, message] of Object.entries(error.constraints ?? {})) {
    if (faults.length >= maxFaults) return;
    if (rule === 'whitelistValidation') {
      faults.push({ field, code: 'invalid_value', message: `There is no member ${path}.` });
      continue;
    }
    const code = codeOf(error, rule);
    faults.push({ field, code, message: parentPath === '' ? message : `${path}: ${message}` });
  }
  for (const child of error.children ?? []) collect(child, field, path, faults);
}

/** `sans[0].name` */
function pathOf(parentPath: string, property: string): string {
  if (parentPath === '') return namedInPart(property);
  return /^\d{1,6}$/.test(property) ? `${parentPath}[${property}]` : `${parentPath}.${namedInPart(property)}`;
}

function codeOf(error: ValidationError, rule: string): FieldFaultCode {
  const context = error.contexts?.[rule] as { readonly code?: unknown } | undefined;
  const named = fieldFaultCodes.find((code) => code === context?.code);
  return named ?? (error.value === undefined ? 'missing_field' : 'invalid_value');
}

/** A name that the caller sent, cut after 64 characters. */
export function namedInPart(name: string): string {
  if (name.length <= maxNameLength) return name.toWellFormed();
  // By characters, so that none is cut in half.
  return `${[...name.slice(0, 2 * maxNameLength)].slice(0, maxNameLength).join('').toWellFormed()}…`;
}

/** A query with invalid parameters: `bad_query` with one sub-error per fault. */
export function badQuery(faults: readonly FieldFault[]): Problem {
  const fields = [...new Set(faults.map(({ field }) => field))].join(', ');
  return new Problem('bad_query', `The query cannot be answered as it stands: see ${fields}.`, { faults });
}

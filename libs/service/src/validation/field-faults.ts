import type { ValidationError } from 'class-validator';
import { type FieldFault, type FieldFaultCode, fieldFaultCodes } from '@certwright/errors';

/** Most faults in one answer: a body of 256 KiB can have tens of thousands of them. */
const mostFaults = 100;

/** Longest member name that is repeated to who sent it. */
const longestEcho = 64;

/**
 * The faults that class-validator found. A rule names its code in `context: { code }`; without one it is
 * `missing_field` for a member that is absent, else `invalid_value`. The field is the member at the top; where in it the fault
 * lies, the message says.
 */
export function faultsFrom(errors: readonly ValidationError[]): FieldFault[] {
  const faults: FieldFault[] = [];
  for (const error of errors) collect(error, echo(error.property), '', faults);
  return faults;
}

function collect(error: ValidationError, field: string, parentPath: string, faults: FieldFault[]): void {
  const path = pathOf(parentPath, error.property);
  for (const [rule, message] of Object.entries(error.constraints ?? {})) {
    if (faults.length >= mostFaults) return;
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
  if (parentPath === '') return echo(property);
  return /^\d{1,6}$/.test(property) ? `${parentPath}[${property}]` : `${parentPath}.${echo(property)}`;
}

function codeOf(error: ValidationError, rule: string): FieldFaultCode {
  const context = error.contexts?.[rule] as { readonly code?: unknown } | undefined;
  const named = fieldFaultCodes.find((code) => code === context?.code);
  return named ?? (error.value === undefined ? 'missing_field' : 'invalid_value');
}

function echo(name: string): string {
  // By characters, so that none is cut in half.
  return name.length <= longestEcho
    ? name
    : `${[...name.slice(0, 2 * longestEcho)].slice(0, longestEcho).join('')}…`;
}

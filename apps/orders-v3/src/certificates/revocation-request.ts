import { type FieldFault, Problem } from '@certwright/errors';
import { type RevocationReason, revocationReason, revocationReasons } from '@certwright/issuance';

const names = Object.entries(revocationReasons).map(([name, code]) => `${name} (${code})`);

/**
 * The optional body of a revocation: `{ "reason": <name or number of RFC 5280> }`.
 *
 * @throws Problem `bad_request`
 */
export function readRevocationRequest(body: unknown): RevocationReason {
  if (body === undefined || body === null) return revocationReasons.unspecified;
  if (typeof body !== 'object' || Array.isArray(body)) {
    throw new Problem('bad_request', 'The body must be a JSON object, such as {"reason": "superseded"}.');
  }
  const reason = 'reason' in body ? revocationReason(body.reason) : revocationReasons.unspecified;
  const faults = unknownMembers(body);
  if (reason === undefined) {
    const message = `It must be the name or the number of one of: ${names.join(', ')}.`;
    throw Problem.ofFields([{ field: 'reason', code: 'invalid_value', message }, ...faults]);
  }
  if (faults.length > 0) throw Problem.ofFields(faults);
  return reason;
}

/** Told one by one; there may be as many as a body holds. */
const mostUnknownMembers = 20;

function unknownMembers(body: object): FieldFault[] {
  const unknown = Object.keys(body).filter((member) => member !== 'reason');
  return unknown.slice(0, mostUnknownMembers).map((member) => ({
    field: member.slice(0, 100).toWellFormed(),
    code: 'invalid_value',
    message: 'A revocation has no such member.',
  }));
}

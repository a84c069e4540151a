import { type FieldFault, Problem } from '@certwright/errors';
import { fieldFault } from './order-members';
import type { OrderFault } from './order-rules';

/** @throws Problem `bad_request` with one sub-error per fault */
export function assertNoFaults(faults: readonly OrderFault[], unknownMembers: readonly FieldFault[]): void {
  const all = [...faults.map(fieldFault), ...unknownMembers];
  if (all.length > 0) throw Problem.ofFields(all);
}

/** The same for a name that nobody has and for one that another account has. */
export function noSuchOrder(): Problem {
  return new Problem('not_found', 'The account has no order of this name.');
}

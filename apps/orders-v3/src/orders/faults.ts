import { type FieldFault, Problem } from '@certwright/errors';
import { fieldFault } from './order-members';
import type { OrderFault } from './order-rules';

/** @throws Problem `bad_request` with one sub-error per fault */
export function assertNoFaults(faults: readonly OrderFault[], unknownMembers: readonly FieldFault[]): void {
  const all = [...faults.map(fieldFault), ...unknownMembers];
  if (all.length > 0) throw Problem.ofFields(all);
}

import type { Outcome } from '@certwright/issuance';
import {
  csrFaultMessage,
  messageOf,
  outcomeMessages,
  type OutcomeMessages,
} from '@certwright/outcome-messages';
import type { CsrFault } from '@certwright/pki';

/** How this API's users read why an issuance waits or failed. */
export const messages: OutcomeMessages = outcomeMessages({
  object: 'order',
  product: 'product',
  checkAgain: 'post the order again',
  startAgain: "set the order's paused to true and back to false",
  buyAgain: "set the order's auto_renew to true",
  sendCsr: 'post the order with a CSR for it',
  approveOtherwise: 'set up another way that the order shows for the name',
  webServerRule: "the redirect_to of the name's rule",
});

export function messageOfOutcome(outcome: Outcome): string;
export function messageOfOutcome(outcome: Outcome | null): string | null;
export function messageOfOutcome(outcome: Outcome | null): string | null {
  return outcome === null ? null : messageOf(outcome, messages);
}

/** Faults of a CSR as sub-errors have them. */
export function csrFaults<C extends CsrFault>(
  faults: readonly C[],
): readonly { readonly code: C['code']; readonly message: string }[] {
  return faults.map((fault) => ({ code: fault.code, message: csrFaultMessage(fault, 'order') }));
}

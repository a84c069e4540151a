import type { Outcome } from '@certwright/issuance';
import {
  csrFaultMessage,
  messageOf,
  outcomeMessages,
  type OutcomeMessages,
} from '@certwright/outcome-messages';
import type { CsrFault } from '@certwright/pki';

/** How this API's users read why an instance is pending or was canceled. */
export const messages: OutcomeMessages = outcomeMessages({
  object: 'certificate object',
  product: 'certificate type',
  checkAgain: 'call redo_approval',
  startAgain: 'buy or reissue the certificate again',
  buyAgain: 'buy the certificate again',
  sendCsr: 'set a CSR for it as the csr of the certificate object',
  approveOtherwise: 'choose another approval_method',
  webServerRule: "the redirect_to of the name's http_approval",
});

export function messageOfOutcome(outcome: Outcome): string;
export function messageOfOutcome(outcome: Outcome | null): string | null;
export function messageOfOutcome(outcome: Outcome | null): string | null {
  return outcome === null ? null : messageOf(outcome, messages);
}

export function messageOfCsrFault(fault: CsrFault): string {
  return csrFaultMessage(fault, 'certificate object');
}

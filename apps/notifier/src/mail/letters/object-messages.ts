import type { PlanOwner } from '@certwright/core-schema';
import { outcomeMessages, type OutcomeMessages } from '@certwright/outcome-messages';

/** The name of the subject of a mail in each API. */
export const objectOf = {
  'orders-v3': 'order',
  'certs-v2': 'certificate',
} as const satisfies Record<PlanOwner, string>;

/** Mails are for people, who need not know the API's calls. */
const inMails = {
  checkAgain: 'request the approval again',
  buyAgain: 'renew it',
  approveOtherwise: 'choose another way',
} as const;

export const outcomeMessagesOf = {
  'orders-v3': outcomeMessages({
    ...inMails,
    object: objectOf['orders-v3'],
    product: 'product',
    startAgain: 'pause and resume the order',
    sendCsr: 'set a CSR for it in the order',
    webServerRule: 'the URL that the order shows',
  }),
  'certs-v2': outcomeMessages({
    ...inMails,
    object: objectOf['certs-v2'],
    product: 'certificate type',
    startAgain: 'request the certificate again',
    sendCsr: 'set a CSR for it in the certificate',
    webServerRule: 'the URL that is shown for the certificate',
  }),
} as const satisfies Record<PlanOwner, OutcomeMessages>;

import type { Outcome, OutcomeCode, OutcomeOf } from '@certwright/issuance';
import { approvalMessages } from './approval-messages';
import { authorityMessages } from './authority-messages';

/** The words in which an API speaks of its own objects and calls. No full stop at the end. */
export interface Dialect {
  /** What a certificate is kept valid for: `order`. */
  readonly object: string;
  /** What the CA, the price and the limits depend on: `product`. */
  readonly product: string;
  /** How to ask for another look at what is set up: `post the order again`. */
  readonly checkAgain: string;
  /** How to start again after an attempt that ended. */
  readonly startAgain: string;
  /** How to begin a new paid term. */
  readonly buyAgain: string;
  /** How to send another CSR. */
  readonly sendCsr: string;
  /** How to have a name approved in another way. */
  readonly approveOtherwise: string;
  /** What has the URL that a web server must redirect to. */
  readonly webServerRule: string;
}

/** One text for every outcome. Each is one or more sentences: what is wrong, where, and what to do. */
export type OutcomeMessages = { readonly [C in OutcomeCode]: (outcome: OutcomeOf<C>) => string };

export function outcomeMessages(dialect: Dialect): OutcomeMessages {
  const messages: OutcomeMessages = {
    ...approvalMessages(dialect, (outcome) => messageOf(outcome, messages)),
    ...authorityMessages(dialect, (outcome) => messageOf(outcome, messages)),
    key_compromised: () =>
      `The key of the CSR is known to be compromised. Generate a new key and ${dialect.sendCsr}.`,
    paid_term_over: ({ endsAt }) =>
      `The paid term ends at ${endsAt}, too soon for another certificate. To begin a new term, ${dialect.buyAgain}.`,
    product_unavailable: () =>
      `The ${dialect.product} is not available at present. The certificate is issued as soon as it is.`,
    approval_timeout: ({ dnsNames, days }) =>
      `Not approved within ${days} days: ${dnsNames.join(', ')}. Set up the approval, then ${dialect.startAgain}.`,
    text: ({ text }) => text,
  };
  return messages;
}

/** @returns an empty text for a code that this release does not know */
export function messageOf<C extends OutcomeCode>(outcome: OutcomeOf<C>, messages: OutcomeMessages): string;
export function messageOf(outcome: Outcome, messages: OutcomeMessages): string;
export function messageOf(outcome: Outcome, messages: OutcomeMessages): string {
  if (!Object.hasOwn(messages, outcome.code)) return '';
  // The table pairs each code with the function that takes its parameters; the compiler cannot follow the pair.
  const write = messages[outcome.code] as (outcome: Outcome) => string;
  return write(outcome);
}

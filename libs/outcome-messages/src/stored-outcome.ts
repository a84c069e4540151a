import type { IssuanceError, NameApproval, Outcome } from '@certwright/issuance';
import { messageOf, outcomeMessages } from './outcome-messages';

/** Names no API's objects: both APIs of a release that knows no outcomes show these texts. */
const neutral = outcomeMessages({
  object: 'certificate',
  product: 'product',
  checkAgain: 'request the approval again',
  startAgain: 'request the certificate again',
  buyAgain: 'buy the certificate again',
  sendCsr: 'send a CSR for it',
  approveOtherwise: 'choose another way',
  webServerRule: "the URL of the account's web server rule",
});

/** What is stored beside an outcome for releases that know none. Read it only through `storedOutcome`. */
export function neutralMessage(outcome: Outcome): string {
  return messageOf(outcome, neutral);
}

/**
 * The outcome of a row that has a text and, maybe, an outcome. A release that knows no outcomes writes only the text and
 * leaves the outcome as it was, and a newer release may store a code that is not known here: the outcome counts only
 * together with its own text.
 */
export function storedOutcome(text: string | null, outcome: Outcome | null | undefined): Outcome | null {
  if (text === null) return null;
  const isCurrent = outcome !== null && outcome !== undefined && neutralMessage(outcome) === text;
  return isCurrent ? outcome : { code: 'text', text };
}

/** `NameApproval` as the rows of issuances hold it. */
export type StoredApproval = Omit<NameApproval, 'problem'> & {
  readonly problem: string | null;
  readonly outcome?: Outcome | null;
};

export function approvalOf({ outcome, problem, ...approval }: StoredApproval): NameApproval {
  return { ...approval, problem: storedOutcome(problem, outcome) };
}

export function toStoredApproval({ problem, ...approval }: NameApproval): StoredApproval {
  if (problem === null) return { ...approval, problem };
  return { ...approval, problem: neutralMessage(problem), outcome: problem };
}

/** `IssuanceError` as the rows of issuances hold it. */
export type StoredIssuanceError = Omit<IssuanceError, 'outcome'> & {
  readonly message: string;
  readonly outcome?: Outcome;
};

export function issuanceErrorOf({ message, outcome, ...error }: StoredIssuanceError): IssuanceError {
  return { ...error, outcome: storedOutcome(message, outcome) ?? { code: 'text', text: '' } };
}

export function toStoredIssuanceError(error: IssuanceError): StoredIssuanceError {
  return { ...error, message: neutralMessage(error.outcome) };
}

/** Result of handing a mail to the mail server. */
export type SendOutcome =
  | { readonly kind: 'sent' }
  /** The server permanently rejects this mail. */
  | { readonly kind: 'refused'; readonly problem: string }
  /** Outcome unknown, a temporary rejection, or wrong settings: tried again. */
  | { readonly kind: 'failed'; readonly problem: string };

/** The failure as reported by nodemailer. */
interface SmtpError {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
  readonly response?: string;
}

/** Commands whose refusal concerns this mail. A refused greeting or login concerns our settings. */
const aboutTheMail: ReadonlySet<string> = new Set(['MAIL FROM', 'RCPT TO', 'DATA']);

/** RFC 4954 §6: these codes refuse the sender's authentication. */
const authenticationCodes: ReadonlySet<number> = new Set([530, 534, 535, 538]);

/** Max characters of the server's response in the log. */
const maxResponseLength = 200;

export function sendFailure(error: unknown): Exclude<SendOutcome, { kind: 'sent' }> {
  const { code, command = '', responseCode, response } = (error ?? {}) as SmtpError;
  const said =
    response === undefined ? (code ?? 'unknown') : withoutAddresses(response.slice(0, maxResponseLength));
  const isPermanent =
    responseCode !== undefined &&
    responseCode >= 500 &&
    !authenticationCodes.has(responseCode) &&
    aboutTheMail.has(command);
  return { kind: isPermanent ? 'refused' : 'failed', problem: command === '' ? said : `${command}: ${said}` };
}

/** Servers often repeat the recipient, which must not be logged. */
const withoutAddresses = (text: string): string => text.replace(/<?[^\s<>@]+@[^\s<>@]+>?/g, '(address)');

const minute = 60 * 1_000;
const hour = 60 * minute;

/** Delay after the first failed attempt, the second, and so on, ms: four days in total (RFC 5321 §4.5.4.1). */
export const mailWaitsMs: readonly number[] = [
  minute,
  5 * minute,
  15 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
  16 * hour,
  ...Array.from({ length: 3 }, () => 22 * hour),
];

/** Adds up to a tenth, so that simultaneous failures are not retried simultaneously. */
const jitterShare = 0.1;

/**
 * @param attempts attempts so far, including this one
 * @param random 0 to 1
 * @returns null when no further attempt is made
 */
export function nextMailTry(attempts: number, now: Date, random: number): Date | null {
  const waitMs = mailWaitsMs[attempts - 1];
  return waitMs === undefined
    ? null
    : new Date(now.getTime() + Math.round(waitMs * (1 + jitterShare * random)));
}

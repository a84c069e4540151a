/** How handing a mail to the mail server ended. */
export type SendOutcome =
  | { readonly kind: 'sent' }
  /** The server does not take this mail, now or later. */
  | { readonly kind: 'refused'; readonly problem: string }
  /** Nobody knows, or the server asks for patience, or our settings are wrong: tried again. */
  | { readonly kind: 'failed'; readonly problem: string };

/** What nodemailer tells of a failure. */
interface SmtpError {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
  readonly response?: string;
}

/** Commands whose refusal is about this very mail. A refused greeting or login is about us. */
const aboutTheMail: ReadonlySet<string> = new Set(['MAIL FROM', 'RCPT TO', 'DATA']);

/** RFC 4954 §6: what they refuse is the sender's authentication. */
const authenticationCodes: ReadonlySet<number> = new Set([530, 534, 535, 538]);

/** Of what the server said, so much goes into the log. */
const longestResponse = 200;

export function sendFailure(error: unknown): Exclude<SendOutcome, { kind: 'sent' }> {
  const { code, command = '', responseCode, response } = (error ?? {}) as SmtpError;
  const said =
    response === undefined ? (code ?? 'unknown') : withoutAddresses(response.slice(0, longestResponse));
  const isPermanent =
    responseCode !== undefined &&
    responseCode >= 500 &&
    !authenticationCodes.has(responseCode) &&
    aboutTheMail.has(command);
  return { kind: isPermanent ? 'refused' : 'failed', problem: command === '' ? said : `${command}: ${said}` };
}

/** Servers like to repeat the recipient; a log is no place for it. */
const withoutAddresses = (text: string): string => text.replace(/<?[^\s<>@]+@[^\s<>@]+>?/g, '(address)');

const minute = 60 * 1_000;
const hour = 60 * minute;

/** How long to wait after the first failed try, the second, and so on, ms: four days in all (RFC 5321 §4.5.4.1). */
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

/** Up to a tenth is added, so that what failed together is not tried together. */
const jitterShare = 0.1;

/**
 * @param attempts tries so far, this one included
 * @param random 0 to 1
 * @returns null when it is given up
 */
export function nextMailTry(attempts: number, now: Date, random: number): Date | null {
  const waitMs = mailWaitsMs[attempts - 1];
  return waitMs === undefined
    ? null
    : new Date(now.getTime() + Math.round(waitMs * (1 + jitterShare * random)));
}

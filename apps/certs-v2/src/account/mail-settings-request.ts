import type { MailSettings } from '@certwright/accounts';
import type { Arguments } from '../wire/arguments';

/**
 * Which mails the account wants; what is left out stays.
 *
 * @returns null when nothing is said about them
 * @throws Refusal `bad_param`
 */
export function readMailSettings(given: Arguments): Partial<MailSettings> | null {
  const mailWhenIssued = given.boolean('mail_when_issued');
  const mailWhenRevoked = given.boolean('mail_when_revoked');
  if (mailWhenIssued === undefined && mailWhenRevoked === undefined) return null;
  return {
    ...(mailWhenIssued === undefined ? {} : { mailWhenIssued }),
    ...(mailWhenRevoked === undefined ? {} : { mailWhenRevoked }),
  };
}

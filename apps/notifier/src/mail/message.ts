import type { Letter } from './letter';
import type { Sender } from './mail-address';
import { renderHtml, renderSubject, renderText } from './render';

/** A mail as passed to the mail server. */
export interface Message {
  readonly from: Sender;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  readonly date: Date;
  readonly headers: Readonly<Record<string, string>>;
}

export interface MailIdentity {
  /** The same for every attempt of this mail, and unique. It reveals nothing, not even how many mails there are. */
  readonly reference: string;
  readonly recipient: string;
}

export function messageOf(
  letter: Letter,
  { reference, recipient }: MailIdentity,
  from: Sender,
  now: Date,
): Message {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);
  return {
    from,
    to: recipient,
    subject: renderSubject(letter),
    text: renderText(letter),
    html: renderHtml(letter),
    messageId: `<${reference}@${domain}>`,
    date: now,
    headers: {
      // RFC 3834 §5: prevents vacation replies.
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
    },
  };
}

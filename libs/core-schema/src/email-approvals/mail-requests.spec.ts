import { type MailRequest, throttledUntil, wantsMail } from './mail-requests';

const now = new Date('2026-11-20T12:00:00Z');
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
const mailbox = (also: Partial<MailRequest> = {}): MailRequest => ({
  askedAt: minutesAgo(60),
  askedAgain: false,
  approvedAt: null,
  ...also,
});
const dayMinutes = 24 * 60;

describe('wantsMail', () => {
  it.each<[string, boolean, MailRequest]>([
    ['the first time', true, mailbox({ askedAt: null })],
    ['not while the one that was sent may still be answered', false, mailbox()],
    ['another one when the caller requested one', true, mailbox({ askedAgain: true })],
    ['not within ten minutes of the last', false, mailbox({ askedAgain: true, askedAt: minutesAgo(9.9) })],
    ['ten minutes after the last', true, mailbox({ askedAgain: true, askedAt: minutesAgo(10) })],
    ['when the link of the last has expired', true, mailbox({ askedAt: minutesAgo(30 * dayMinutes) })],
    ['not a minute before', false, mailbox({ askedAt: minutesAgo(30 * dayMinutes - 1) })],
    ['when the approval that came of the last is too old', true, mailbox({ approvedAt: minutesAgo(30) })],
    ['not when the last was sent since that approval', false, mailbox({ approvedAt: minutesAgo(90) })],
  ])('%s: %s', (_, wanted, given) => expect(wantsMail(given, now)).toBe(wanted));
});

describe('throttledUntil', () => {
  const mails = (count: number) => Array.from({ length: count }, (_, index) => minutesAgo(100 - index));

  it('allows five mails within a day', () => expect(throttledUntil(mails(4))).toBeNull());

  it('holds the sixth back until the first of five is a day old', () => {
    expect(throttledUntil(mails(5))).toEqual(new Date(minutesAgo(100).getTime() + 86_400_000));
    expect(throttledUntil(mails(7))).toEqual(new Date(minutesAgo(98).getTime() + 86_400_000));
  });
});

import { isIPv6 } from 'node:net';
import type { PlainDialogue } from './plain-dialogue';
import { ProbeError, shown } from './probe-error';

export const startTlsProtocols = ['smtp', 'imap', 'pop3', 'postgres'] as const;
export type StartTls = (typeof startTlsProtocols)[number];

interface Upgrade {
  /** Resolves when the server expects the first message of the handshake. */
  begin(dialogue: PlainDialogue): Promise<void>;
  /** Ends the session inside TLS. */
  readonly goodbye: string;
}

export const startTls = {
  smtp: { begin: smtp, goodbye: 'QUIT\r\n' },
  imap: { begin: imap, goodbye: 'b LOGOUT\r\n' },
  pop3: { begin: pop3, goodbye: 'QUIT\r\n' },
  postgres: { begin: postgres, goodbye: '' },
} as const satisfies Record<StartTls, Upgrade>;

/** RFC 3207. */
async function smtp(dialogue: PlainDialogue): Promise<void> {
  await smtpReply(dialogue, 220, 'the connection');
  // RFC 5321, section 4.1.3: a client without a name of its own sends its address.
  const address = dialogue.localAddress;
  dialogue.send(`EHLO [${isIPv6(address) ? 'IPv6:' : ''}${address}]\r\n`);
  const extensions = await smtpReply(dialogue, 250, 'EHLO');
  if (!extensions.some((line) => /^STARTTLS\s*$/i.test(line))) {
    throw new ProbeError('the server does not offer STARTTLS; enable TLS in the server');
  }
  dialogue.send('STARTTLS\r\n');
  await smtpReply(dialogue, 220, 'STARTTLS');
}

/** Lines of the largest reply that is read. */
const maxLines = 100;

/** RFC 5321, section 4.2.1. @returns the text of each line */
async function smtpReply(dialogue: PlainDialogue, code: number, to: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for (;;) {
    const line = await dialogue.line();
    const match = /^(\d{3})(?:([ -])(.*))?$/.exec(line);
    if (match === null || Number(match[1]) !== code) throw refused(to, line);
    texts.push(match[3] ?? '');
    if (match[2] !== '-') return texts;
    if (texts.length === maxLines) throw new ProbeError(`a reply of more than ${maxLines} lines to ${to}`);
  }
}

/** RFC 9051, section 6.2.1. */
async function imap(dialogue: PlainDialogue): Promise<void> {
  const greeting = await dialogue.line();
  if (!/^\* OK\b/i.test(greeting)) throw refused('the connection', greeting);
  dialogue.send('a STARTTLS\r\n');
  for (let lines = 0; lines < maxLines; lines++) {
    const line = await dialogue.line();
    if (/^a OK\b/i.test(line)) return;
    if (!/^\* (?!BYE\b)/i.test(line)) throw refused('STARTTLS', line);
  }
  throw new ProbeError(`a reply of more than ${maxLines} lines to STARTTLS`);
}

/** RFC 2595, section 4. */
async function pop3(dialogue: PlainDialogue): Promise<void> {
  const greeting = await dialogue.line();
  if (!/^\+OK\b/.test(greeting)) throw refused('the connection', greeting);
  dialogue.send('STLS\r\n');
  const reply = await dialogue.line();
  if (!/^\+OK\b/.test(reply)) throw refused('STLS', reply);
}

/** PostgreSQL, "Message Formats": length 8, code 1234 and 5679. */
const sslRequest = Buffer.from('0000000804d2162f', 'hex');

async function postgres(dialogue: PlainDialogue): Promise<void> {
  dialogue.send(sslRequest);
  const reply = String.fromCharCode(await dialogue.byte());
  if (reply === 'N') throw new ProbeError('the server does not offer TLS; set ssl = on in the server');
  if (reply !== 'S') throw new ProbeError('the response to SSLRequest is not of PostgreSQL');
}

function refused(to: string, line: string): ProbeError {
  return new ProbeError(`unexpected response to ${to}: ${shown(line, 150)}`);
}

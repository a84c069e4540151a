import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';

/** The server's response to a recipient or to a message; null: it accepts it. */
export interface Refusal {
  readonly at: 'MAIL FROM' | 'RCPT TO' | 'DATA';
  readonly code: number;
}

/** A mail server on loopback that accepts, refuses or hangs, as a test configures it. */
export class MailServer {
  readonly received: ParsedMail[] = [];
  /** As received, in the order of `received`. */
  readonly raw: string[] = [];
  refusal: Refusal | null = null;
  /** Accepts a message without confirming it. */
  hangs = false;
  private readonly server: SMTPServer;

  private constructor() {
    this.server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      closeTimeout: 100,
      logger: false,
      onMailFrom: (_address, _session, callback) => callback(this.refused('MAIL FROM')),
      onRcptTo: (_address, _session, callback) => callback(this.refused('RCPT TO')),
      onData: (stream, _session, callback) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const raw = Buffer.concat(chunks);
          void simpleParser(raw, { skipTextToHtml: true, skipImageLinks: true }).then((mail) => {
            const refused = this.refused('DATA');
            if (refused === null) {
              this.raw.push(raw.toString('latin1'));
              this.received.push(mail);
            }
            if (!this.hangs) callback(refused);
          });
        });
      },
    });
    this.server.on('error', () => undefined);
  }

  static async open(): Promise<MailServer> {
    const mail = new MailServer();
    await new Promise<void>((resolve) => mail.server.listen(0, '127.0.0.1', resolve));
    return mail;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.server.close(resolve));
  }

  private refused(at: Refusal['at']): Error | null {
    if (this.refusal?.at !== at) return null;
    return Object.assign(new Error('scripted refusal'), { responseCode: this.refusal.code });
  }
}

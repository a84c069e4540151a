import { createTransport } from 'nodemailer';
import type { Message } from './message';

export interface SmtpOptions {
  /** `smtp://host:port` or `smtps://host:port`. */
  readonly url: string;
  /** Without it TLS is used when the server offers it. */
  readonly requireTls: boolean;
  readonly login: { readonly user: string; readonly password: string } | null;
}

/** A mail server answers at once or is in trouble; each of these is for one silence. */
const timeouts = {
  dnsTimeout: 5_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 15_000,
};

/** For one mail in all, however slowly the server speaks, ms. */
export const sendWithinMs = 40_000;

const defaultPorts = { 'smtp:': 587, 'smtps:': 465 } as const;

/** Connections kept open for the next mail. */
const connections = 4;

/** Hands mails to the mail server. */
export class SmtpClient {
  private readonly transport: ReturnType<typeof createTransport>;

  /** @param stopping aborts when this process may wait no longer for answers */
  constructor(
    { url, requireTls, login }: SmtpOptions,
    private readonly stopping: AbortSignal,
  ) {
    const { protocol, hostname, port } = new URL(url);
    const secure = protocol === 'smtps:';
    this.transport = createTransport({
      pool: true,
      maxConnections: connections,
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? defaultPorts[secure ? 'smtps:' : 'smtp:'] : Number(port),
      secure,
      requireTLS: requireTls && !secure,
      ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
      ...timeouts,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** @throws Error as nodemailer has it, or a plain one when the time is up: then nobody knows whether it was taken */
  async send(message: Message): Promise<void> {
    const sending = this.transport.sendMail({
      ...message,
      headers: { ...message.headers },
      // Given apart, so that no reading of header fields decides who gets it.
      envelope: { from: message.from.address, to: [message.to] },
      to: { name: '', address: message.to },
    });
    await Promise.race([sending, this.late()]);
  }

  close(): void {
    this.transport.close();
  }

  /** Never resolves. */
  private async late(): Promise<never> {
    const signal = AbortSignal.any([this.stopping, AbortSignal.timeout(sendWithinMs)]);
    return await new Promise((_, reject) => {
      const giveUp = () => reject(new Error('the mail server did not answer in time'));
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}

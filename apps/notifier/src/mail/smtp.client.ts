import { Drain } from '@certwright/service';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createTransport } from 'nodemailer';
import { Config } from '../config';
import type { Message } from './message';

/**
 * Each of these limits one pause. A server may examine a mail before it accepts it (RFC 5321, section 4.5.3.2.6: 10 minutes): who
 * gives up earlier does not know that it was accepted, and sends another copy with each retry.
 */
const timeouts = {
  dnsTimeout: 5_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 120_000,
};

/** Total time for one mail, even with a slow server, ms. */
export const sendWithinMs = 150_000;

const defaultPorts = { 'smtp:': 587, 'smtps:': 465 } as const;

/** Connections kept open for the next mail. */
const connections = 4;

/** Hands mails to the mail server. */
@Injectable()
export class SmtpClient implements OnApplicationShutdown {
  private readonly transport: ReturnType<typeof createTransport>;

  constructor(
    @Inject(Config) config: Pick<Config, 'SMTP_URL' | 'SMTP_REQUIRE_TLS' | 'SMTP_USER' | 'SMTP_PASSWORD'>,
    private readonly drain: Drain,
  ) {
    const { SMTP_REQUIRE_TLS: requireTls, SMTP_USER: user, SMTP_PASSWORD: password } = config;
    const { protocol, hostname, port } = new URL(config.SMTP_URL);
    const secure = protocol === 'smtps:';
    this.transport = createTransport({
      pool: true,
      maxConnections: connections,
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? defaultPorts[secure ? 'smtps:' : 'smtp:'] : Number(port),
      secure,
      requireTLS: requireTls && !secure,
      ...(user === null || password === null ? {} : { auth: { user, pass: password.reveal() } }),
      ...timeouts,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** @throws Error of nodemailer, or a plain one after the timeout: the outcome is then unknown */
  async send(message: Message): Promise<void> {
    const sending = this.transport.sendMail({
      ...message,
      headers: { ...message.headers },
      // Passed separately, so that the recipient does not depend on parsing header fields.
      envelope: { from: message.from.address, to: [message.to] },
      to: { name: '', address: message.to },
    });
    await Promise.race([sending, this.late()]);
  }

  onApplicationShutdown(): void {
    this.transport.close();
  }

  /** Never resolves. */
  private async late(): Promise<never> {
    const signal = AbortSignal.any([this.drain.signal, AbortSignal.timeout(sendWithinMs)]);
    return await new Promise((_, reject) => {
      const giveUp = () => reject(new Error('the mail server did not respond in time'));
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}

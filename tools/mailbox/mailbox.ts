import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { MailDev } from 'maildev';
import type { MailboxConfig } from './config';

const loopback = '127.0.0.1';

/** Stored mails; the oldest are deleted. */
const maxMails = 500;

/** MailDev on loopback, without relaying: no mail leaves this machine. */
export class Mailbox {
  private constructor(
    private readonly maildev: MailDev,
    /** In this order. */
    private readonly undo: readonly (() => Promise<void>)[],
    readonly smtpPort: number,
    readonly webPort: number,
  ) {}

  /** @throws the system's error for a port in use; closes everything before */
  static async open(config: MailboxConfig): Promise<Mailbox> {
    // MailDev is an ES module only, and this program is CommonJS.
    const { MailDev } = await import('maildev');
    // Attachments are always written to files, so without a configured folder a temporary one is used.
    const folder = config.MAILBOX_DIR ?? (await mkdtemp(path.join(tmpdir(), 'certwright-mailbox-')));
    const undo = config.MAILBOX_DIR === null ? [() => rm(folder, { recursive: true, force: true })] : [];
    const maildev = new MailDev({
      ip: loopback,
      smtp: config.MAILBOX_SMTP_PORT,
      webIp: loopback,
      web: config.MAILBOX_WEB_PORT,
      mailDirectory: folder,
      maxEmails: maxMails,
    });
    try {
      const { smtp, api } = await maildev.start();
      const pidFile = config.PID_FILE;
      if (pidFile !== null) {
        await writeFile(pidFile, `${process.pid}\n`);
        undo.push(() => rm(pidFile, { force: true }));
      }
      return new Mailbox(maildev, undo, smtp.getAddress().port, api?.getAddress()?.port ?? 0);
    } catch (error) {
      await maildev.stop();
      for (const step of undo) await step();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.maildev.stop();
    for (const step of this.undo) await step();
  }
}

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Pool } from 'pg';
import type { Message } from '../../../apps/notifier/src/mail/message';

/** A mail that the server accepted. */
export interface TakenMail {
  readonly messageId: string;
  readonly kind: string;
  readonly accountId: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly createdMs: number;
  readonly atMs: number;
  /** For an expiration notice: whether its certificate was current when the mail was sent. */
  readonly isCurrent: boolean;
}

interface MailRow {
  readonly kind: string;
  readonly account_id: string;
  readonly facts: Record<string, unknown>;
  readonly created_at: Date;
  readonly current: boolean;
}

/** The id of the mail that is being sent: a message does not reveal it. */
export const mailBeingSent = new AsyncLocalStorage<string>();

/** Accepts every mail, and stores the data to check. */
export class MailServer {
  readonly taken: TakenMail[] = [];
  onMail: (mail: TakenMail) => void = () => undefined;

  constructor(
    private readonly auditor: Pool,
    private readonly isDown: () => boolean,
    private readonly nowMs: () => number,
  ) {}

  async send({ messageId }: Message): Promise<void> {
    if (this.isDown()) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const { rows } = await this.auditor.query<MailRow>(
      `SELECT kind, mail.account_id, facts, mail.created_at,
         coalesce(certificate.is_current AND certificate.revoked_at IS NULL AND plan.closed_at IS NULL, false) AS current
       FROM mail LEFT JOIN certificate ON certificate.id = (facts ->> 'certificateId')::bigint
       LEFT JOIN plan ON plan.id = certificate.plan_id WHERE mail.id = $1`,
      [mailBeingSent.getStore()],
    );
    const [row] = rows;
    if (row === undefined) throw new Error(`the mail ${messageId} is not in the database`);
    const mail = {
      messageId,
      kind: row.kind,
      accountId: row.account_id,
      facts: row.facts,
      createdMs: row.created_at.getTime(),
      atMs: this.nowMs(),
      isCurrent: row.current,
    };
    this.taken.push(mail);
    this.onMail(mail);
  }
}

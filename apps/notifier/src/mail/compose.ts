import { createHash } from 'node:crypto';
import type { EmailApprovals } from '@certwright/approvals';
import type { LeasedMail } from './leased-mails';
import type { MailSubjects } from './mail-subjects';
import type { Letter } from './letter';
import { approvalRequestLetter } from './letters/approval-request';
import { certificateIssuedLetter } from './letters/certificate-issued';
import { expirationNoticeLetter } from './letters/expiration-notice';
import { invoiceLetter } from './letters/invoice';
import { renewalUnpaidLetter } from './letters/renewal-unpaid';
import { revocationCompleteLetter } from './letters/revocation-complete';
import { webhookDisabledLetter } from './letters/webhook-disabled';

export interface ComposePorts {
  readonly subjects: Pick<
    MailSubjects,
    'approval' | 'expiration' | 'disabledEndpoint' | 'invoice' | 'unpaidRenewal' | 'issued' | 'revoked'
  >;
  readonly approvals: Pick<EmailApprovals, 'issueToken'>;
  /** Where the approval responder is reached from outside; without a slash at the end. */
  readonly approvalUrl: string;
  /** 160 fresh random bits. */
  readonly tokenBytes: () => Buffer;
}

/** Writes a mail from what stands in the rows now. @returns null when there is nothing to tell any more */
export async function compose(mail: LeasedMail, ports: ComposePorts): Promise<Letter | null> {
  switch (mail.kind) {
    case 'approval-request': {
      const subject = await ports.subjects.approval(mail.facts.approvalId);
      if (subject === null) return null;
      // A token of its own for every try: what may have been sent before stays valid, and nothing secret is kept.
      const token = ports.tokenBytes().toString('base64url');
      const sha256 = createHash('sha256').update(token).digest();
      const expiresAt = await ports.approvals.issueToken(subject.approvalId, sha256);
      return approvalRequestLetter(subject, `${ports.approvalUrl}/approve/${token}`, expiresAt);
    }
    case 'expiration-notice': {
      const subject = await ports.subjects.expiration(mail.facts.certificateId);
      return subject && expirationNoticeLetter(subject, mail.now);
    }
    case 'webhook-disabled': {
      const subject = await ports.subjects.disabledEndpoint(mail.facts.endpointId);
      return subject && webhookDisabledLetter(subject);
    }
    case 'invoice': {
      const subject = await ports.subjects.invoice(mail.facts.invoiceNumber);
      return subject && invoiceLetter(subject);
    }
    case 'renewal-unpaid': {
      const subject = await ports.subjects.unpaidRenewal(mail.facts.planId, mail.createdAt);
      return subject && renewalUnpaidLetter(subject);
    }
    case 'certificate-issued': {
      const subject = await ports.subjects.issued(mail.facts.certificateId);
      return subject && certificateIssuedLetter(subject);
    }
    case 'revocation-complete': {
      const subject = await ports.subjects.revoked(mail.facts.certificateId);
      return subject && revocationCompleteLetter(subject);
    }
  }
}

import { createHash, randomBytes } from 'node:crypto';
import { EmailApprovals } from '@certwright/approvals';
import { isOvertaken } from '@certwright/issuance';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import type { LeasedMail } from './leased-mails';
import { isMonitoringMail, MonitoringMailWriter } from './monitoring/monitoring-mail-writer';
import { MailSubjects } from './mail-subjects';
import type { Letter } from './letter';
import { approvalRequestLetter } from './letters/approval-request';
import { certificateIssuedLetter } from './letters/certificate-issued';
import { expirationNoticeLetter } from './letters/expiration-notice';
import { notServedLetter, rolloutStoppedLetter } from './letters/installations';
import { invoiceLetter } from './letters/invoice';
import { renewalUnpaidLetter } from './letters/renewal-unpaid';
import { revocationCompleteLetter } from './letters/revocation-complete';
import { webhookDisabledLetter } from './letters/webhook-disabled';

/** A token in a link, bytes: 160 random bits. */
const tokenLength = 20;

/** Writes a mail from the current rows. */
@Injectable()
export class MailWriter {
  /** Public URL of the approval responder, without a slash at the end. */
  private readonly approvalUrl: string;

  constructor(
    private readonly subjects: MailSubjects,
    private readonly monitoring: MonitoringMailWriter,
    private readonly approvals: EmailApprovals,
    @Inject(Config) { APPROVAL_URL }: Pick<Config, 'APPROVAL_URL'>,
  ) {
    this.approvalUrl = APPROVAL_URL.replace(/\/+$/, '');
  }

  /** @returns null when the mail is no longer needed */
  async write(mail: LeasedMail): Promise<Letter | null> {
    if (isMonitoringMail(mail)) return await this.monitoring.write(mail);
    switch (mail.kind) {
      case 'approval-request': {
        const subject = await this.subjects.approval(mail.facts.approvalId);
        if (subject === null) return null;
        // A new token for every attempt: links already sent stay valid, and no secret is stored.
        const token = randomBytes(tokenLength).toString('base64url');
        const sha256 = createHash('sha256').update(token).digest();
        const expiresAt = await this.approvals.issueToken(subject.approvalId, sha256);
        return approvalRequestLetter(subject, `${this.approvalUrl}/approve/${token}`, expiresAt);
      }
      case 'expiration-notice': {
        const { certificateId, thresholdDays } = mail.facts;
        const subject = await this.subjects.expiration(certificateId);
        if (subject === null || isOvertaken(thresholdDays, subject.notAfter, mail.now)) return null;
        return expirationNoticeLetter(subject, mail.now);
      }
      case 'webhook-disabled': {
        const subject = await this.subjects.disabledEndpoint(mail.facts.endpointId);
        return subject && webhookDisabledLetter(subject);
      }
      case 'invoice': {
        const subject = await this.subjects.invoice(mail.facts.invoiceNumber);
        return subject && invoiceLetter(subject);
      }
      case 'renewal-unpaid': {
        const subject = await this.subjects.unpaidRenewal(mail.facts.planId, mail.createdAt);
        return subject && renewalUnpaidLetter(subject);
      }
      case 'certificate-not-served': {
        const { planId, certificateSha256 } = mail.facts;
        const subject = await this.subjects.rollout(planId, certificateSha256, { isStopped: false });
        return subject && notServedLetter(subject);
      }
      case 'rollout-stopped': {
        const { planId, certificateSha256 } = mail.facts;
        const subject = await this.subjects.rollout(planId, certificateSha256, { isStopped: true });
        return subject && rolloutStoppedLetter(subject);
      }
      case 'certificate-issued': {
        const subject = await this.subjects.issued(mail.facts.certificateId);
        return subject && certificateIssuedLetter(subject);
      }
      case 'revocation-complete': {
        const subject = await this.subjects.revoked(mail.facts.certificateId);
        return subject && revocationCompleteLetter(subject);
      }
    }
  }
}

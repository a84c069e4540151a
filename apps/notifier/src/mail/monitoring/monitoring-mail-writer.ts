import type { MonitoringMailKind } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import type { LeasedMail } from '../leased-mails';
import type { Letter } from '../letter';
import { backfillLetter } from './backfill';
import { certificatesLetter } from './certificates';
import { endpointsHeldLetter, endpointsLetter } from './endpoints';
import { MonitoringSubjects } from './monitoring-subjects';
import { notLoggedLetter, notReceivedLetter, secondCertificateLetter } from './not-logged';
import { behindLetter, caughtUpLetter, heartbeatLetter, overflowLetter } from './state-letters';

export type MonitoringMail = Extract<LeasedMail, { readonly kind: MonitoringMailKind }>;

export const isMonitoringMail = (mail: LeasedMail): mail is MonitoringMail =>
  mail.kind.startsWith('monitoring-');

/** Writes a mail about certificate monitoring from the current rows. */
@Injectable()
export class MonitoringMailWriter {
  constructor(private readonly subjects: MonitoringSubjects) {}

  /** @returns null when the mail is no longer needed */
  async write(mail: MonitoringMail): Promise<Letter | null> {
    if (mail.kind === 'monitoring-endpoints-held') return endpointsHeldLetter(mail.facts);
    const { accountId } = mail;
    switch (mail.kind) {
      case 'monitoring-certificates': {
        const subject = await this.subjects.certificates(accountId, mail.facts.tbsSha256);
        return subject && certificatesLetter(subject, mail.facts.occasion);
      }
      case 'monitoring-backfill': {
        const subject = await this.subjects.backfill(accountId, mail.facts.backfillId);
        return subject && backfillLetter(subject, mail.facts);
      }
      case 'monitoring-overflow': {
        const subject = await this.subjects.overflow(accountId, mail.facts);
        return subject && overflowLetter(subject, mail.facts.since);
      }
      case 'monitoring-behind': {
        const accountName = await this.subjects.accountName(accountId);
        return accountName === null ? null : behindLetter(accountName, mail.facts);
      }
      case 'monitoring-caught-up': {
        const accountName = await this.subjects.accountName(accountId);
        return accountName === null ? null : caughtUpLetter(accountName, mail.facts);
      }
      case 'monitoring-heartbeat': {
        const subject = await this.subjects.heartbeat(accountId, mail.facts);
        return subject && heartbeatLetter(subject, mail.facts);
      }
      case 'monitoring-endpoints': {
        const subject = await this.subjects.endpoints(accountId, mail.facts.reportIds);
        return subject && endpointsLetter(subject, mail.facts.occasion);
      }
      case 'monitoring-not-logged':
        return await this.notLogged(mail);
    }
  }

  private async notLogged({
    accountId,
    facts,
  }: Extract<MonitoringMail, { readonly kind: 'monitoring-not-logged' }>): Promise<Letter | null> {
    if (facts.problem === 'not-logged') {
      const subject = await this.subjects.notLogged(accountId, facts.certificateId);
      return subject && notLoggedLetter(subject);
    }
    const letter = facts.problem === 'second-certificate' ? secondCertificateLetter : notReceivedLetter;
    const subject = await this.subjects.issuance(accountId, facts.issuanceId);
    return subject && letter(subject, facts.tbsSha256);
  }
}

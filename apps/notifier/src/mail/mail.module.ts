import { AccountsModule } from '@certwright/accounts';
import { Module } from '@nestjs/common';
import { ApprovalsModule } from '@certwright/approvals';
import { DeliveryModule } from '@certwright/delivery';
import { LeasedMails } from './leased-mails';
import { MailEvents, ObservedMails } from './mail-events';
import { MailSubjects } from './mail-subjects';
import { MailWriter } from './mail-writer';
import { MonitoringMailWriter } from './monitoring/monitoring-mail-writer';
import { MonitoringSubjects } from './monitoring/monitoring-subjects';
import { MailProcessor } from './mail.processor';
import { SendMail } from './send-mail';
import { SmtpClient } from './smtp.client';

/** Writes and sends mails. */
@Module({
  imports: [AccountsModule, ApprovalsModule, DeliveryModule],
  providers: [
    LeasedMails,
    MailProcessor,
    MailSubjects,
    MailWriter,
    MonitoringMailWriter,
    MonitoringSubjects,
    SendMail,
    SmtpClient,
    { provide: MailEvents, useClass: ObservedMails },
  ],
})
export class MailModule {}

import { Module } from '@nestjs/common';
import { ApprovalsModule } from '@certwright/approvals';
import { DeliveryModule } from '@certwright/delivery';
import { LeasedMails } from './leased-mails';
import { MailSubjects } from './mail-subjects';

const providers = [LeasedMails, MailSubjects];

/** Mail that is due. */
@Module({ imports: [ApprovalsModule, DeliveryModule], providers, exports: providers })
export class MailModule {}

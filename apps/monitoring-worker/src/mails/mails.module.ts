import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { GatheredMails } from '../gathered-mail/gathered-mail';
import { TasksModule } from '../tasks/tasks.module';
import { Heartbeats } from './heartbeats';
import { SendMails } from './send-mails';

@Module({
  imports: [CtDatabaseModule, DeliveryModule, TasksModule],
  providers: [GatheredMails, Heartbeats, SendMails],
})
export class MailsModule {}

import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { TasksModule } from '../tasks/tasks.module';
import { CertificateMails } from './certificate-mails';
import { Heartbeats } from './heartbeats';

@Module({
  imports: [CtDatabaseModule, DeliveryModule, TasksModule],
  providers: [CertificateMails, Heartbeats],
})
export class MailsModule {}

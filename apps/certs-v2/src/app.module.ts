import { Module } from '@nestjs/common';
import { AccountModule } from './account/account.module';
import { AnnouncementsModule } from './announcements/announcements.module';
import { CertObjectsModule } from './cert-objects/cert-objects.module';
import { ConfigTemplatesModule } from './config-templates/config-templates.module';
import { InstallationTestModule } from './installation-test/installation-test.module';
import { InstanceActionsModule } from './instance-actions/instance-actions.module';
import { InstancesModule } from './instances/instances.module';
import { InvoicesModule } from './invoices/invoices.module';

@Module({
  imports: [
    AccountModule,
    AnnouncementsModule,
    CertObjectsModule,
    ConfigTemplatesModule,
    InstallationTestModule,
    InstanceActionsModule,
    InstancesModule,
    InvoicesModule,
  ],
})
export class AppModule {}

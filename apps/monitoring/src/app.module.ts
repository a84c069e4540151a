import { Module } from '@nestjs/common';
import { CertificatesModule } from './certificates/certificates.module';
import { ChangesModule } from './changes/changes.module';
import { CtDatabaseModule } from './ct-database/ct-database.module';
import { EndpointsModule } from './endpoints/endpoints.module';
import { KnownModule } from './known/known.module';
import { MonitoredDomainsModule } from './monitored-domains/monitored-domains.module';
import { SettingsModule } from './settings/settings.module';
import { StatusModule } from './status/status.module';
import { TestAlertsModule } from './test-alerts/test-alerts.module';
import { WireModule } from './wire/wire.module';

@Module({
  imports: [
    WireModule,
    ChangesModule,
    CtDatabaseModule,
    MonitoredDomainsModule,
    KnownModule,
    SettingsModule,
    CertificatesModule,
    EndpointsModule,
    StatusModule,
    TestAlertsModule,
  ],
})
export class AppModule {}

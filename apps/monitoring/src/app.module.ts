import { Module } from '@nestjs/common';
import { CertificatesModule } from './certificates/certificates.module';
import { ChangesModule } from './changes/changes.module';
import { KnownModule } from './known/known.module';
import { MonitoredDomainsModule } from './monitored-domains/monitored-domains.module';
import { SettingsModule } from './settings/settings.module';
import { WireModule } from './wire/wire.module';

@Module({
  imports: [
    WireModule,
    ChangesModule,
    MonitoredDomainsModule,
    KnownModule,
    SettingsModule,
    CertificatesModule,
  ],
})
export class AppModule {}

import { CoreSchemaModule } from '@certwright/core-schema';
import { OrderingModule } from '@certwright/ordering';
import { type DynamicModule, Module } from '@nestjs/common';
import { CertificateAuthoritiesModule } from './certificate-authorities/certificate-authorities.module';
import type { Config } from './config';
import { HousekeepingModule } from './housekeeping/housekeeping.module';
import { IntegrationsModule } from './integrations/integrations.module';
import { RenewalsModule } from './renewals/renewals.module';

/** The worker has no front: what it needs of the framework is the database. Everything else is put together in start.ts. */
@Module({})
export class AppModule {
  static of(config: Config): DynamicModule {
    const { DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize } = config;
    return {
      module: AppModule,
      imports: [
        CoreSchemaModule.forRoot({
          url,
          poolSize,
          applicationName: 'issuance-worker',
          statementTimeoutMs: 10_000,
        }),
        OrderingModule,
        CertificateAuthoritiesModule,
        IntegrationsModule,
        RenewalsModule,
        HousekeepingModule,
      ],
    };
  }
}

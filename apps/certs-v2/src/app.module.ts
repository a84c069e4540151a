import { CoreSchemaModule } from '@certwright/core-schema';
import { ProcessModule } from '@certwright/service';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { AccountModule } from './account/account.module';
import { AnnouncementsModule } from './announcements/announcements.module';
import { CertObjectsModule } from './cert-objects/cert-objects.module';
import { ConfigTemplatesModule } from './config-templates/config-templates.module';
import { InstallationTestModule } from './installation-test/installation-test.module';
import { InstanceActionsModule } from './instance-actions/instance-actions.module';
import { InstancesModule } from './instances/instances.module';
import { InvoicesModule } from './invoices/invoices.module';
import { CertsConfig } from './config';

@Module({})
export class AppModule {
  /** @param opened what the process opened before the application: connections, limits, keys */
  static forRoot(config: CertsConfig, opened: readonly Provider[]): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CoreSchemaModule.forRoot({
          url: config.DATABASE_URL,
          applicationName: 'certs-v2',
          poolSize: config.DATABASE_POOL_SIZE,
          statementTimeoutMs: config.STATEMENT_TIMEOUT,
        }),
        ProcessModule.of([{ provide: CertsConfig, useValue: config }, ...opened]),
        AccountModule,
        AnnouncementsModule,
        CertObjectsModule,
        ConfigTemplatesModule,
        InstallationTestModule,
        InstanceActionsModule,
        InstancesModule,
        InvoicesModule,
      ],
    };
  }
}

import { CoreSchemaModule } from '@certwright/core-schema';
import { AccountsModule } from '@certwright/accounts';
import { ApprovalsModule } from '@certwright/approvals';
import { BillingModule } from '@certwright/billing';
import { DeliveryModule } from '@certwright/delivery';
import { IdempotencyModule } from '@certwright/idempotency';
import { OrderingModule } from '@certwright/ordering';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { account } from './account/parts';
import { announcements } from './announcements/parts';
import { certObjects } from './cert-objects/parts';
import { CertsConfig } from './config';
import { configTemplates } from './config-templates/parts';
import { installationTest } from './installation-test/parts';
import { instanceActions } from './instance-actions/parts';
import { instances } from './instances/parts';
import { invoices } from './invoices/parts';

const parts = [
  certObjects,
  instances,
  instanceActions,
  installationTest,
  configTemplates,
  account,
  invoices,
  announcements,
];

@Module({})
export class AppModule {
  /** @param surroundings what the process opened before the application: connections, keys */
  static forRoot(config: CertsConfig, surroundings: readonly Provider[]): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CoreSchemaModule.forRoot({
          url: config.DATABASE_URL,
          applicationName: 'certs-v2',
          poolSize: config.DATABASE_POOL_SIZE,
          statementTimeoutMs: config.STATEMENT_TIMEOUT,
        }),
        AccountsModule,
        ApprovalsModule,
        BillingModule,
        DeliveryModule,
        IdempotencyModule,
        OrderingModule,
      ],
      controllers: parts.flatMap(({ controllers }) => controllers),
      providers: [
        { provide: CertsConfig, useValue: config },
        ...surroundings,
        ...parts.flatMap(({ providers }) => providers),
      ],
    };
  }
}

import { CorePersistenceModule } from '@certwright/persistence';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { account } from './account/parts';
import { announcements } from './announcements/parts';
import { certObjects } from './cert-objects/parts';
import { CertsConfig } from './config';
import { configTemplates } from './config-templates/parts';
import { installationTest } from './installation-test/parts';
import { instances } from './instances/parts';
import { invoices } from './invoices/parts';

const parts = [certObjects, instances, installationTest, configTemplates, account, invoices, announcements];

@Module({})
export class AppModule {
  /** @param surroundings what the process opened before the application: connections, keys */
  static forRoot(config: CertsConfig, surroundings: readonly Provider[]): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CorePersistenceModule.forRoot({
          url: config.DATABASE_URL,
          applicationName: 'certs-v2',
          poolSize: config.DATABASE_POOL_SIZE,
          statementTimeoutMs: config.STATEMENT_TIMEOUT,
        }),
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

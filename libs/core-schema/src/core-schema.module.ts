import {
  awaitSchema,
  awaitSettings,
  type DatabaseConnection,
  databaseTime,
  sessionSettings,
  warnOfExcessPrivileges,
} from '@certwright/postgres';
import { type DynamicModule, type FactoryProvider, Module, type Provider } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { coreDataSourceOptions, usedCoreSchema } from './core-data-source';
import { awaitDeployment, claimDeployment, type DeploymentMode } from './deployment/deployment';
import { Outbox } from './outbox/outbox';
import { OutboxWrites } from './outbox/outbox-writes';
import { coreSchema } from './roles/core-schema';
import { Transactions } from './transactions/transactions';

/** When the database is unavailable at start, a process retries for half a minute before it exits. */
const connecting = { retryAttempts: 15, retryDelay: 2_000 };

export interface CoreProcess extends Omit<DatabaseConnection, 'applicationName'> {
  /** Of the process; its database role has the same name. */
  readonly name: string;
  /** Null: the process runs in either deployment. `access: 'await'` is for a role that may not claim the database. */
  readonly deployment: { readonly mode: DeploymentMode; readonly access: 'claim' | 'await' } | null;
  readonly log: { warn(members: object, message: string): void };
  readonly readiness: { add(name: string, check: () => Promise<unknown>): void };
}

/** Provided once the database is known to belong to this deployment. */
export abstract class OwnDeployment {}

const coreProcess = Symbol('CoreProcess');

const deployment: Provider = {
  provide: OwnDeployment,
  inject: [DataSource, coreProcess],
  useFactory: async (database: DataSource, process: CoreProcess) => {
    const { name, deployment, pooler, log, readiness } = process;
    const query = async (text: string) => await database.query<object[]>(text);
    await awaitSchema(query, usedCoreSchema, { process: name, log });
    readiness.add('database', async () => await databaseTime(query, usedCoreSchema.setting));
    await awaitSettings(database, pooler, sessionSettings(process), log);
    if (deployment?.access === 'claim') await claimDeployment(database, deployment.mode);
    if (deployment?.access === 'await') await awaitDeployment(database, deployment.mode);
    await warnOfExcessPrivileges(database, coreSchema, name, log);
    return {};
  },
};

/** The connection to the `core` database, its transactions and its outbox, for all modules of a process. */
@Module({})
export class CoreSchemaModule {
  /** With a readiness check, and after it was checked that the database belongs to this deployment. */
  static forRootAsync({
    inject = [],
    useFactory,
  }: Pick<FactoryProvider<CoreProcess>, 'inject' | 'useFactory'>): DynamicModule {
    const options = { provide: coreProcess, inject, useFactory };
    return {
      module: CoreSchemaModule,
      global: true,
      imports: [
        TypeOrmModule.forRootAsync({
          inject,
          useFactory: async (...injected: unknown[]) => {
            const { name: applicationName, ...database } = await useFactory(...injected);
            return { ...coreDataSourceOptions({ applicationName, ...database }), ...connecting };
          },
        }),
      ],
      providers: [options, deployment, Outbox, OutboxWrites, Transactions],
      exports: [OwnDeployment, Outbox, OutboxWrites, Transactions],
    };
  }
}

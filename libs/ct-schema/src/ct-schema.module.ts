import {
  awaitSchema,
  awaitSettings,
  type DatabaseConnection,
  databaseTime,
  sessionSettings,
  warnOfExcessPrivileges,
} from '@certwright/postgres';
import { type DynamicModule, type FactoryProvider, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { ctDataSourceOptions, usedCtSchema } from './ct-data-source';
import { ctSchema } from './roles/ct-schema';

/** When the database is unavailable at start, a process retries for half a minute before it gives up. */
const connecting = { retryAttempts: 15, retryDelay: 2_000 };

export interface CtProcess extends Omit<DatabaseConnection, 'applicationName'> {
  /** Of the process; its database role has the same name. */
  readonly name: string;
  readonly log: { warn(members: object, message: string): void };
  readonly readiness: { add(name: string, check: () => Promise<unknown>): void };
}

const ctProcess = Symbol('CtProcess');

/** The connection to the `ct` database, with a readiness check, for all modules of a process. */
@Module({})
export class CtSchemaModule {
  static forRootAsync({
    inject = [],
    useFactory,
  }: Pick<FactoryProvider<CtProcess>, 'inject' | 'useFactory'>): DynamicModule {
    return {
      module: CtSchemaModule,
      imports: [
        TypeOrmModule.forRootAsync({
          inject,
          useFactory: async (...injected: unknown[]) => {
            const { name: applicationName, ...database } = await useFactory(...injected);
            return { ...ctDataSourceOptions({ applicationName, ...database }), ...connecting };
          },
        }),
      ],
      providers: [
        { provide: ctProcess, inject, useFactory },
        {
          provide: CtSchemaModule.name,
          inject: [DataSource, ctProcess],
          useFactory: async (database: DataSource, process: CtProcess) => {
            const { name, pooler, log, readiness } = process;
            const query = async (text: string) => await database.query<object[]>(text);
            await awaitSchema(query, usedCtSchema, { process: name, log });
            readiness.add('database', async () => await databaseTime(query, usedCtSchema.setting));
            await awaitSettings(database, pooler, sessionSettings(process), log);
            await warnOfExcessPrivileges(database, ctSchema, name, log);
            return null;
          },
        },
      ],
    };
  }
}

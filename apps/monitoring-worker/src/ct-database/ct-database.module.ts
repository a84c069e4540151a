import { ctDataSource, ctSchema, usedCtSchema } from '@certwright/ct-schema';
import {
  awaitSchema,
  awaitSettings,
  databaseTime,
  sessionSettings,
  warnOfExcessPrivileges,
} from '@certwright/postgres';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config';

/** Max time of a statement: a batch of the index takes some milliseconds, a page of a large backfill a second. */
const statementTimeoutMs = 20_000;

/** The connection to the ct database; `DataSource` is that to the core database. */
export abstract class CtDatabase extends DataSource {}

async function openCtDatabase(
  { CT_DATABASE_URL: url, DATABASE_POOLER: pooler, CT_DATABASE_POOL_SIZE: poolSize }: Config,
  { name, log, readiness, opened }: RunningProcess,
): Promise<CtDatabase> {
  const database = ctDataSource({ applicationName: name, url, pooler, poolSize, statementTimeoutMs });
  await database.initialize();
  opened('ct database', async () => await database.destroy());
  const query = async (text: string) => await database.query<object[]>(text);
  await awaitSchema(query, usedCtSchema, { process: name, log });
  readiness.add('ct database', async () => await databaseTime(query, usedCtSchema.setting));
  await awaitSettings(database, pooler, sessionSettings({ statementTimeoutMs }), log);
  await warnOfExcessPrivileges(database, ctSchema, name, log);
  return database;
}

@Module({
  providers: [{ provide: CtDatabase, inject: [Config, RunningProcess], useFactory: openCtDatabase }],
  exports: [CtDatabase],
})
export class CtDatabaseModule {}

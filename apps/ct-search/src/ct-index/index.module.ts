import { ctSchema, usedCtSchema } from '@certwright/ct-schema';
import { databaseTime, schemaCheck, warnOfExcessPrivileges } from '@certwright/postgres';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { SearchConfig } from '../config';
import { observeDataAge } from './data-age';
import { IndexReaders } from './index-readers';

/** The ct database may be unavailable, also at the start. */
function openIndex(config: SearchConfig, { log, metrics, readiness, opened }: RunningProcess): IndexReaders {
  const readers = new IndexReaders({
    url: config.CT_DATABASE_URL,
    pooler: config.DATABASE_POOLER,
    poolSize: config.CT_DATABASE_POOL_SIZE,
    log,
  });
  opened('ct database', async () => await readers.close());
  observeDataAge(readers, metrics);
  const query = async (text: string) =>
    await readers.within({ kind: 'readiness', timeLimitMs: 2_000 }).query<object[]>(text);
  readiness.add('ct schema', schemaCheck(query, usedCtSchema, 'ct-search'));
  let isRoleKnown = false;
  readiness.shared.add('ct database', async () => {
    const reader = readers.within({ kind: 'readiness', timeLimitMs: 2_000 });
    const time = await databaseTime(query, usedCtSchema.setting);
    if (isRoleKnown) return time;
    isRoleKnown = true;
    await warnOfExcessPrivileges(reader, ctSchema, 'ct-search', log);
    return time;
  });
  return readers;
}

@Module({
  providers: [{ provide: IndexReaders, inject: [SearchConfig, RunningProcess], useFactory: openIndex }],
  exports: [IndexReaders],
})
export class IndexModule {}

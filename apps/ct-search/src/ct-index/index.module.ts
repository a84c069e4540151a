import { ctSchema } from '@certwright/ct-schema';
import { warnOfExcessPrivileges } from '@certwright/postgres';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { SearchConfig } from '../config';
import { IndexReaders } from './index-readers';

/** The ct database may be unavailable, also at the start. */
function openIndex(config: SearchConfig, { log, readiness, opened }: RunningProcess): IndexReaders {
  const readers = new IndexReaders({
    url: config.CT_DATABASE_URL,
    pooler: config.DATABASE_POOLER,
    poolSize: config.CT_DATABASE_POOL_SIZE,
    log,
  });
  opened('ct database', async () => await readers.close());
  let isRoleKnown = false;
  readiness.shared.add('ct database', async () => {
    const reader = readers.within({ kind: 'readiness', timeLimitMs: 2_000 });
    await reader.query('SELECT 1');
    if (isRoleKnown) return;
    isRoleKnown = true;
    await warnOfExcessPrivileges(reader, ctSchema, 'ct-search', log);
  });
  return readers;
}

@Module({
  providers: [{ provide: IndexReaders, inject: [SearchConfig, RunningProcess], useFactory: openIndex }],
  exports: [IndexReaders],
})
export class IndexModule {}

import { coreDataSource } from '@certwright/core-schema';
import { type SeverableLink, severableLink } from '@certwright/testing';
import type { DataSource } from 'typeorm';

export interface SeverableDatabase {
  readonly source: DataSource;
  readonly link: SeverableLink;
  close(): Promise<void>;
}

/** The same database through a network connection that a test cuts and restores. */
export async function severableDatabase(databaseUrl: string): Promise<SeverableDatabase> {
  const url = new URL(databaseUrl);
  const link = await severableLink({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${link.port}`;
  const source = coreDataSource({
    url: url.href,
    applicationName: 'spec',
    poolSize: 2,
    statementTimeoutMs: 10_000,
  });
  await source.initialize();
  return {
    source,
    link,
    close: async () => {
      await source.destroy();
      await link.close();
    },
  };
}

import { readFile } from 'node:fs/promises';
import { type HttpTls, type Logger, type Repeating, repeat } from '@certwright/service';

export interface TlsFiles {
  readonly key: string;
  readonly certificate: string;
  readonly clientCa: string;
}

export async function readTls(files: TlsFiles): Promise<HttpTls> {
  const [key, certificate, clientCa] = await Promise.all(
    [files.key, files.certificate, files.clientCa].map((file) => readFile(file, 'utf8')),
  );
  return { key: key ?? '', certificate: certificate ?? '', clientCa: clientCa ?? '' };
}

/**
 * Looks at the files once in a while, as whoever renews certificates only writes them. By their content: a mounted secret
 * changes by a link, and no watcher of files sees that. Files that do not fit together, as when one of them is written
 * already, are tried again with the next look.
 *
 * @param everyMs between two looks
 */
export function followTls(
  files: TlsFiles,
  first: HttpTls,
  { everyMs, log, use }: { everyMs: number; log: Logger; use: (tls: HttpTls) => void },
): Repeating {
  let inUse = JSON.stringify(first);
  const round = async (): Promise<number> => {
    const read = await readTls(files);
    const text = JSON.stringify(read);
    if (text !== inUse) {
      use(read);
      inUse = text;
      log.info('TLS certificates renewed');
    }
    return everyMs;
  };
  return repeat(round, {
    afterErrorMs: everyMs,
    onError: (err) => log.error({ err }, 'the TLS files do not hold; those from before stay in use'),
  });
}

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
 * Polls the files for renewed certificates. Compares their content: a mounted secret changes through a symbolic
 * link, which file watchers do not see. Files that do not match, as when only one of them is written yet, are
 * retried at the next poll.
 *
 * @param everyMs interval between two polls
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

import { readFile } from 'node:fs/promises';
import { auditFiles } from './audit-files';
import { type AuditLine, readLine } from './audit-line';

/** Files have 64 MiB, some 130,000 entries. */
const maxFiles = 2;

/** The entries of the instance's newest files, oldest first; a torn line is passed over. The chain is not verified here. */
export async function recentEntries(folder: string, instance: string): Promise<readonly AuditLine[]> {
  const entries: AuditLine[] = [];
  for (const { file } of (await auditFiles(folder, instance)).slice(-maxFiles)) {
    const bytes = await readFile(file);
    for (let start = 0, end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
      const read = readLine(bytes.subarray(start, end));
      if (read.ok) entries.push(read.line);
      start = end + 1;
    }
  }
  return entries;
}

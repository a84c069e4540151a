import { createHash, createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { BlockedKeys } from '@certwright/ordering';
import { Command } from 'commander';
import type { WithDatabase } from './with-database';

/** Rows of one statement: lists of known weak keys have hundreds of thousands. */
const batch = 10_000;

export function blockedKeyCommands(withDatabase: WithDatabase): Command {
  const blocked = new Command('blocked-keys').description('public keys that must never be certified');
  blocked
    .command('load <file>')
    .description(
      'add keys from a file ("-": standard input): a line each of 64 hex digits, the SHA-256 over the DER ' +
        'SubjectPublicKeyInfo ("#" begins a comment), or PEM blocks of keys or certificates',
    )
    .requiredOption('--reason <text>', 'why, for those who ask later')
    .action(async (file: string, { reason }: { reason: string }) => {
      const text = file === '-' ? await standardInput() : await readFile(file, 'utf8');
      const digests = text.includes('-----BEGIN ') ? digestsOfPem(text) : digestsOfLines(text);
      await withDatabase(async (database) => {
        const blockedKeys = new BlockedKeys(database);
        let added = 0;
        for (let start = 0; start < digests.length; start += batch) {
          added += await blockedKeys.add(digests.slice(start, start + batch), reason);
        }
        console.log(`${digests.length} read, ${added} new`);
      });
    });
  return blocked;
}

function digestsOfLines(text: string): Buffer[] {
  return text.split('\n').flatMap((line, index) => {
    const [digest = ''] = line.split('#', 1);
    if (digest.trim() === '') return [];
    if (!/^[0-9a-f]{64}$/i.test(digest.trim())) throw new Error(`Line ${index + 1} is not 64 hex digits.`);
    return [Buffer.from(digest.trim(), 'hex')];
  });
}

function digestsOfPem(text: string): Buffer[] {
  const blocks = text.match(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g) ?? [];
  if (blocks.length === 0) throw new Error('No complete PEM block found.');
  return blocks.map((block) => {
    const spki = createPublicKey(block).export({ type: 'spki', format: 'der' });
    return createHash('sha256').update(spki).digest();
  });
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

import { createHash, createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { BlockedKeys } from '@certwright/ordering';
import { Command } from 'commander';
import type { WithDatabase } from './with-database';

export function blockedKeyCommands(withDatabase: WithDatabase): Command {
  const blocked = new Command('blocked-keys').description('public keys that must never be certified');
  blocked
    .command('load <file>')
    .description(
      'add keys from a file ("-": standard input): one line per key that begins with 64 hex digits, the SHA-256 over the DER ' +
        'SubjectPublicKeyInfo ("#" begins a comment), or PEM blocks of keys (public or private) or certificates',
    )
    .requiredOption('--reason <text>', 'reason, stored with the keys')
    .action(async (file: string, { reason }: { reason: string }) => {
      const text = file === '-' ? await standardInput() : await readFile(file, 'utf8');
      const digests = text.includes('-----BEGIN ') ? digestsOfPem(text) : digestsOfLines(text);
      await withDatabase(async (database) => {
        const added = await new BlockedKeys(database).add(digests, reason);
        console.log(`${digests.length} read, ${added} new`);
      });
    });
  return blocked;
}

function digestsOfLines(text: string): Buffer[] {
  return text.split('\n').flatMap((line, index) => {
    const [entry = ''] = line.split('#', 1);
    const [digest = ''] = entry.trim().split(/\s/, 1);
    if (digest === '') return [];
    if (!/^[0-9a-f]{64}$/i.test(digest)) throw new Error(`Line ${index + 1} ${problemOf(digest)}`);
    return [Buffer.from(digest, 'hex')];
  });
}

function problemOf(digest: string): string {
  return /^[0-9a-f]{20}$/i.test(digest)
    ? 'has the format of openssl-blacklist, SHA-1 over the modulus; load the keys themselves, as PEM.'
    : 'does not begin with 64 hex digits; nothing was loaded.';
}

function digestsOfPem(text: string): Buffer[] {
  const digests: Buffer[] = [];
  for (const begin of text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----/g)) {
    const [line, label = ''] = begin;
    // Precedes the key in the output of "openssl ecparam -genkey".
    if (label === 'EC PARAMETERS') continue;
    const place = () => `The PEM block in line ${text.slice(0, begin.index).split('\n').length}`;
    const next = text.indexOf('-----BEGIN ', begin.index + line.length);
    const block = text.slice(begin.index, next === -1 ? undefined : next);
    if (!block.includes(`-----END ${label}-----`))
      throw new Error(`${place()} has no END line; nothing was loaded.`);
    try {
      const spki = createPublicKey(block).export({ type: 'spki', format: 'der' });
      digests.push(createHash('sha256').update(spki).digest());
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`${place()} is not a readable key or certificate (${why}); nothing was loaded.`);
    }
  }
  return digests;
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

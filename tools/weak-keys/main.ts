// Derives Debian's weak keys and packs them into the built-in list: docs/operating.md, "Blocked keys".
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PackedDigests } from '@certwright/pki';
import { Command, Option } from 'commander';
import { debianKeyDigest, type KeyKind, keyKinds } from './debian-keys';
import { type Origin, platforms, variants } from './debian-random';

const list = path.resolve('libs/pki/src/keys/known-keys/debian-openssl.txt');

/** Characters of a line of the list. */
const lineLength = 120;

interface Range extends Omit<Origin, 'processId'> {
  readonly kind: KeyKind;
  readonly from: string;
  readonly to: string;
}

const program = new Command('weak-keys').description('weak keys of OpenSSL on Debian (CVE-2008-0166)');
program
  .command('derive')
  .description('print the SHA-256 over the SubjectPublicKeyInfo of each key, hexadecimal')
  .addOption(new Option('--kind <kind>').choices(keyKinds).makeOptionMandatory())
  .addOption(new Option('--platform <platform>').choices(Object.keys(platforms)).makeOptionMandatory())
  .addOption(new Option('--variant <variant>').choices(variants).makeOptionMandatory())
  .option('--from <process id>', 'first process id', '0')
  .option('--to <process id>', 'last process id', '32767')
  .action(({ kind, platform, variant, from, to }: Range) => {
    for (let processId = Number(from); processId <= Number(to); processId++) {
      console.log(debianKeyDigest(kind, { platform, variant, processId }).toString('hex'));
    }
  });
program
  .command('pack <files...>')
  .description('add derived digests to the built-in list')
  .action(async (files: string[]) => {
    const digests = [...new PackedDigests(Buffer.from(await readFile(list, 'utf8'), 'base64')).entries()];
    for (const file of files) {
      const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
      for (const line of lines) digests.push(Buffer.from(line, 'hex'));
    }
    const packed = PackedDigests.pack(digests);
    const lines = packed.toString('base64').match(new RegExp(`.{1,${lineLength}}`, 'g')) ?? [];
    await writeFile(list, `${lines.join('\n')}\n`);
    console.log(`${new PackedDigests(packed).size} keys`);
  });

program.parseAsync().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});

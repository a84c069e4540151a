import { readFileSync } from 'node:fs';
import { type ChainHead, chainStart } from './audit-entry';
import { ChainCheck, type ChainSummary } from './chain-check';

/**
 * The command that verifies a chain. A separate process, because the log may be checked by other users than the
 * writer.
 */
const usage = `Verifies the hash chain of one gateway instance's audit log.

  npm run audit -- verify [--head <sequence:hash>] [--after <sequence:hash>] <file…>

  <file…>   all files of one instance, in the order of their names
  --head    a head that was kept elsewhere: reports when the chain was cut off before it, or rewritten up to it
  --after   the head of an earlier verification, when the files before it were archived

Exit status: 0 the chain holds, 1 it does not (file, line and reason on standard error), 2 wrong usage.
`;

class UsageError extends Error {}

interface Request {
  readonly files: readonly string[];
  readonly head: ChainHead | null;
  readonly after: ChainHead;
}

function readRequest(args: readonly string[]): Request {
  const [command, ...rest] = args;
  if (command !== 'verify') throw new UsageError(usage);
  const files: string[] = [];
  let head: ChainHead | null = null;
  let after = chainStart;
  for (let index = 0; index < rest.length; index += 1) {
    const arg = rest[index] ?? '';
    if (arg === '--head') head = readHead(arg, rest[(index += 1)]);
    else if (arg === '--after') after = readHead(arg, rest[(index += 1)]);
    else if (arg.startsWith('-')) throw new UsageError(usage);
    else files.push(arg);
  }
  if (files.length === 0) throw new UsageError(usage);
  if (head !== null && head.sequence <= after.sequence)
    throw new UsageError('--head lies before the files: it must come later than --after.\n');
  return { files, head, after };
}

function readHead(option: string, text = ''): ChainHead {
  const [, sequence, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (sequence === undefined || hash === undefined)
    throw new UsageError(`${option} takes <sequence:hash>, as a verification prints it.\n`);
  return { sequence: Number(sequence), hash };
}

function verify({ files, head, after }: Request): ChainSummary | string {
  const check = new ChainCheck(after, head);
  for (const file of files) {
    const broken = check.take(file, readFileSync(file));
    if (broken !== null) return `${broken.file}:${broken.line}: ${broken.reason}`;
  }
  const broken = check.finish();
  return broken === null ? check.summary() : `${broken.file}:${broken.line}: ${broken.reason}`;
}

/** Max number listed individually. */
const maxListed = 20;

function described({ head, intentsWithoutOutcome: open, ...summary }: ChainSummary): string {
  const listed = open.slice(0, maxListed).join(', ') + (open.length > maxListed ? ', …' : '');
  return [
    `instance                 ${summary.instance ?? '-'}`,
    `files                    ${summary.files}`,
    `entries                  ${summary.entries}`,
    `first                    ${summary.firstTime ?? '-'}`,
    `last                     ${summary.lastTime ?? '-'}`,
    `intents without outcome  ${open.length}${open.length > 0 ? ` (${listed})` : ''}`,
    `torn lines               ${summary.tornLines}`,
    `head                     ${head.sequence}:${head.hash}`,
    '',
  ].join('\n');
}

function main(args: readonly string[]): number {
  if (args.includes('--help')) {
    process.stdout.write(usage);
    return 0;
  }
  try {
    const result = verify(readRequest(args));
    if (typeof result === 'string') {
      process.stderr.write(`${result}\n`);
      return 1;
    }
    process.stdout.write(described(result));
    return 0;
  } catch (error) {
    process.stderr.write(error instanceof UsageError ? error.message : `${(error as Error).message}\n`);
    return 2;
  }
}

process.exitCode = main(process.argv.slice(2));

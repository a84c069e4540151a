import { CtLogEntity, type CtLogEvidenceEntity } from '@certwright/ct-schema';
import { evidenceOf } from '../../apps/ct-ingest/src/logs/log-evidence';
import {
  type LeftAlone,
  LogLeftAlone,
  restartLog,
  resumeLog,
  wakeLog,
} from '../../apps/ct-ingest/src/logs/start-again';
import { Command, InvalidArgumentError } from 'commander';
import type { DataSource } from 'typeorm';
import type { WithDatabase } from './with-database';

export function ctLogCommands(withCtDatabase: WithDatabase): Command {
  const logs = new Command('logs').description('followed and stopped logs');
  logs
    .command('list')
    .description('list all logs with their positions, and the reason why a log was stopped')
    .action(async () => {
      await withCtDatabase(async (database) => {
        const found = await evidenceOf(database);
        for (const log of await allLogs(database)) {
          const kinds = found.filter((each) => each.log === log.id).map(({ kind }) => kind);
          console.log(JSON.stringify({ ...summary(log), evidence: kinds }));
        }
      });
    });
  logs
    .command('resume <log>')
    .description(
      'resume a stopped log at its position, by its id, description, URL or log id; it is stopped again if it contradicts its stored head',
    )
    .action(async (name: string) => {
      await onLog(withCtDatabase, name, async (database, log) => {
        await resumeLog(database, log.id);
        console.log(`log ${log.id} (${log.description}) resumes at ${log.position}`);
      });
    });
  logs
    .command('evidence <log>')
    .description(
      'print the contradictions of a log, one JSON object a line: signed heads as fetched, hashes in base64',
    )
    .action(async (name: string) => {
      await onLog(withCtDatabase, name, async (database, log) => {
        for (const each of await evidenceOf(database, log.id))
          console.log(JSON.stringify(exhibit(log, each)));
      });
    });
  logs
    .command('wake <log>')
    .description(
      'end the pause of a log after failures or a Retry-After, by its id, description, URL or log id',
    )
    .action(async (name: string) => {
      await onLog(withCtDatabase, name, async (database, log) => {
        const pauseMin = Math.ceil((await wakeLog(database, log.id)) / 60_000);
        const pause = pauseMin === 0 ? 'it was already due' : `the pause had ${pauseMin} min left`;
        console.log(`log ${log.id} (${log.description}) is due now; ${pause}`);
      });
    });
  logs
    .command('restart <log>')
    .description(
      'restart a log: its tree and signed head are deleted, so nothing proves that it extends the entries read before; issuances are kept',
    )
    .requiredOption('--from <index>', 'the first entry to read', index)
    .action(async (name: string, { from }: { from: bigint }) => {
      await onLog(withCtDatabase, name, async (database, log) => {
        const { startIndex, position, headSize, headRoot } = await restartLog(database, log.id, from);
        const root = headRoot === null ? 'none' : `${headSize} entries, root ${headRoot.toString('base64')}`;
        console.log(`log ${log.id} (${log.description}) restarts at ${from}`);
        console.log(`deleted state: entries ${startIndex} to ${position}; head: ${root}`);
      });
    });
  return logs;
}

async function allLogs(database: DataSource): Promise<CtLogEntity[]> {
  return await database.getRepository(CtLogEntity).find({ order: { id: 'ASC' } });
}

function summary(log: CtLogEntity): object {
  const { id, description, url, kind, listState, enabled, startIndex, position, headSize, verifiedSize } =
    log;
  const { stoppedAt, stoppedReason, lastError } = log;
  const sizes = { startIndex, position, headSize, verifiedSize };
  return { id, description, url, kind, listState, enabled, ...sizes, lastError, stoppedAt, stoppedReason };
}

/** Contains the key of the log, so that others can verify the signatures. Heads are text. */
function exhibit({ description, keyDer }: CtLogEntity, evidence: CtLogEvidenceEntity): object {
  const { id, kind, problem, url, foundAt, headSigned, keptSigned, computedSize, computedRoot, proof } =
    evidence;
  return {
    ...{ id, kind, problem, log: description, url, key: keyDer.toString('base64'), foundAt },
    head: headSigned.toString('utf8'),
    keptHead: keptSigned?.toString('utf8') ?? null,
    computed: computedRoot === null ? null : { size: computedSize, root: computedRoot.toString('base64') },
    proof: proof?.map((hash) => hash.toString('base64')) ?? null,
  };
}

/** Does something to one log. */
async function onLog(
  withCtDatabase: WithDatabase,
  name: string,
  act: (database: DataSource, log: CtLogEntity) => Promise<void>,
): Promise<void> {
  await withCtDatabase(async (database) => {
    const found = (await allLogs(database)).filter(({ id, description, url, logId }) =>
      [String(id), description, url, logId.toString('base64'), logId.toString('hex')].includes(name),
    );
    const [log] = found;
    if (log === undefined) throw new Error(`There is no log ${name}: see \`ct logs list\`.`);
    if (found.length > 1) throw new Error(`${found.length} logs match ${name}: give the id of one.`);
    try {
      await act(database, log);
    } catch (error) {
      throw error instanceof LogLeftAlone ? new Error(refusal(error, log)) : error;
    }
  });
}

function refusal({ why }: LogLeftAlone, { id, description }: CtLogEntity): string {
  return `Log ${id} (${description}) ${refusals[why]}`;
}

const refusals: Readonly<Record<LeftAlone, string>> = {
  not_stopped: 'is not stopped.',
  stopped: 'is stopped: see `ct logs resume`.',
  disabled: 'is not followed: no log list contains it, or LOGS excludes it.',
  followed: 'is being followed at the moment. Try again, or stop ct-ingest first.',
};

function index(text: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Expected the index of an entry, 0 or more.');
  return BigInt(text);
}

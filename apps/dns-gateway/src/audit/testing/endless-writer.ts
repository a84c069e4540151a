import { anIntent, openLog } from './chains';

/**
 * A process that writes until it is killed: `endless-writer <folder>`. Prints the id of every entry reported to be
 * on disk.
 */
async function main(folder: string): Promise<void> {
  const log = await openLog(folder, { rotateAtBytes: 20_000 });
  process.stdout.write(`open ${log.head().sequence}\n`);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (;;) {
        const id = await log.intent(anIntent);
        process.stdout.write(`entry ${id}\n`);
        await log.outcome(id, { result: 'done', problem: null });
      }
    }),
  );
}

void main(process.argv[2] ?? '');

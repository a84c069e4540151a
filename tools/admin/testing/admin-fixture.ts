import { coreDataSource } from '@certwright/core-schema';
import type { ctDataSource } from '@certwright/ct-schema';
import { type TestDatabase, testDatabase } from '@certwright/testing';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import type { WithDatabase } from '../with-database';

/** Runs admin commands on a migrated database of the spec. */
export class AdminFixture {
  database!: DataSource;
  private test!: TestDatabase;
  private printed: string[] = [];

  /** Runs `npm run admin -- <args>`. @returns the printed lines @throws CommanderError for invalid arguments */
  async run(
    commands: readonly ((withDatabase: WithDatabase) => Command)[],
    ...args: readonly string[]
  ): Promise<string[]> {
    this.printed = [];
    const program = new Command('admin').exitOverride();
    for (const command of commands)
      program.addCommand(silenced(command(async (work) => await work(this.database))));
    await program.parseAsync(args, { from: 'user' });
    return this.printed;
  }

  async open(openDatabase: typeof coreDataSource | typeof ctDataSource): Promise<void> {
    this.test = await testDatabase();
    this.database = openDatabase({
      url: this.test.url,
      applicationName: 'spec',
      poolSize: 4,
      statementTimeoutMs: 10_000,
    });
    await this.database.initialize();
    if (openDatabase !== coreDataSource) await this.database.runMigrations({ transaction: 'each' });
  }

  async close(): Promise<void> {
    await this.database.destroy();
    await this.test.dispose();
  }

  capture(): void {
    const print = (line: string) => void this.printed.push(line);
    jest.spyOn(console, 'log').mockImplementation(print);
    jest.spyOn(console, 'warn').mockImplementation(print);
  }
}

/** Opens the database before all specs of a file, and captures the output of each. */
export function adminFixture(
  openDatabase: typeof coreDataSource | typeof ctDataSource = coreDataSource,
): AdminFixture {
  const fixture = new AdminFixture();
  beforeAll(async () => await fixture.open(openDatabase), 30_000);
  beforeEach(() => fixture.capture());
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => await fixture.close());
  return fixture;
}

function silenced(command: Command): Command {
  for (const each of command.commands) silenced(each);
  return command.exitOverride().configureOutput({ writeErr: () => undefined });
}

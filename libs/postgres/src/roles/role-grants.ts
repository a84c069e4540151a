import type { SessionSettings } from '../session-settings';

/** Names of columns with white space between them, or `*` for the whole table, later columns included. */
export type Columns = string;

/** @returns undefined for the whole table */
export function columnNames(columns: Columns): readonly string[] | undefined {
  return columns === '*' ? undefined : columns.split(/\s+/).filter((name) => name !== '');
}

export interface TableGrants {
  readonly select?: Columns;
  readonly insert?: Columns;
  /** Row locks (`FOR UPDATE`, `FOR SHARE` …) need it on at least one column too. */
  readonly update?: Columns;
  readonly delete?: true;
}

/** What the role of one process may do in one schema. */
export interface RoleGrants {
  /** By table; the grants of a partitioned table are those of its partitions. */
  readonly tables: Readonly<Record<string, TableGrants>>;
  /** With argument types, as `regprocedure` prints them. */
  readonly functions?: readonly string[];
  readonly sequences?: readonly string[];
  readonly temporaryTables?: true;
  /** Of its sessions in the database, for poolers: other connections set them when they are opened. */
  readonly session?: SessionSettings;
  /**
   * Privileges that no statement needs any more, as written between GRANT and TO. Processes of the previous release
   * may still run when the migration command does: a release keeps here what it stops using, and the next one drops
   * it.
   */
  readonly retiring?: readonly string[];
}

/** A function that runs as the owner of the tables, for a role with no further rights. */
export interface DefinerFunction {
  /** As `regprocedure` prints it. */
  readonly signature: string;
  /**
   * `CREATE OR REPLACE FUNCTION …`
   *
   * @param asOwner the clauses that make it run as its owner
   */
  readonly definition: (asOwner: string) => string;
}

/** The tables and functions of one of the platform's schemas, and who may do what with them. */
export interface GrantedSchema {
  readonly name: 'core' | 'ct';
  /** Matches the names of its tables and sequences, and of no others in a database that both schemas share. */
  readonly relations: RegExp;
  /** Its functions, with argument types. PUBLIC may execute none of them. */
  readonly functions: readonly string[];
  /** Those that the migration command replaces each time, so that they match its release. */
  readonly definers: readonly DefinerFunction[];
  /** By process. */
  readonly roles: Readonly<Record<string, RoleGrants>>;
}

/** Role of a process: `certwright_` and `orders-v3` make `certwright_orders_v3`. */
export function roleOf(prefix: string, process: string): string {
  return `${prefix}${process.replaceAll('-', '_')}`;
}

/** Each as it is written between GRANT and TO. */
export function privilegesOf(
  { tables, functions = [], sequences = [], retiring = [] }: RoleGrants,
  withPartitions: (table: string) => readonly string[] = (table) => [table],
): string[] {
  const ofTables = Object.entries(tables).flatMap(([table, grants]) =>
    withPartitions(table).flatMap((name) => ofTable(name, grants)),
  );
  return [
    ...ofTables,
    ...functions.map((signature) => `EXECUTE ON FUNCTION ${signature}`),
    ...sequences.map((name) => `USAGE ON SEQUENCE ${name}`),
    ...retiring,
  ];
}

function ofTable(table: string, { select, insert, update, delete: deletes }: TableGrants): string[] {
  const of = (privilege: string, columns: Columns = '') =>
    columnNames(columns)?.map((column) => `${privilege} (${column}) ON ${table}`) ?? [
      `${privilege} ON ${table}`,
    ];
  return [
    ...of('SELECT', select),
    ...of('INSERT', insert),
    ...of('UPDATE', update),
    ...(deletes ? [`DELETE ON ${table}`] : []),
  ];
}

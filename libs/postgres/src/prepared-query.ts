import * as pg from 'pg';

/** The columns of a statement's rows, and how `pg` reads them. */
interface Columns {
  readonly fields: readonly pg.FieldDef[];
  readonly _parsers: unknown;
  readonly _prebuiltEmptyResultObject: unknown;
}

/** Of the statements that a connection has prepared, by name. */
export type ColumnsOfStatements = Map<string, Columns>;

/** What `pg` has, and does not declare. */
interface Internals {
  name: string;
  readonly values: readonly unknown[];
  readonly _result: Columns;
  callback: Callback;
  _accumulateRows: boolean;
  handleRowDescription(message: unknown): void;
  prepare(connection: Connection): void;
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

interface Connection {
  describe(message: unknown): void;
}

/**
 * A named statement, whose columns are described on its first execution only. A session keeps them for as long as the statement
 * is prepared: where a table has changed meanwhile, PostgreSQL refuses an execution that would return others.
 *
 * `pg` returns a query that it is given, instead of a promise. This one is a promise itself.
 */
export class PreparedQuery
  extends (pg.Query as unknown as new (text: string, values?: unknown[]) => pg.Query & Internals)
  implements PromiseLike<pg.QueryResult>
{
  /** Read by `pg`. */
  readonly query_timeout: number | undefined;
  readonly #result: Promise<pg.QueryResult>;

  constructor(
    config: pg.QueryConfig & { readonly name: string; readonly query_timeout?: number },
    private readonly columns: ColumnsOfStatements,
  ) {
    // `pg` would clone the whole configuration by its property descriptors.
    super(config.text, config.values);
    this.name = config.name;
    this.query_timeout = config.query_timeout;
    this.#result = new Promise((resolve, reject) => {
      this.callback = (error, result) => (error === null ? resolve(result) : reject(error));
    });
  }

  then<Done = pg.QueryResult, Failed = never>(
    done?: ((result: pg.QueryResult) => Done | PromiseLike<Done>) | null,
    failed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    return this.#result.then(done, failed);
  }

  override handleRowDescription(message: unknown): void {
    super.handleRowDescription(message);
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result;
    this.columns.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject });
  }

  override prepare(connection: Connection): void {
    const known = this.columns.get(this.name);
    if (known === undefined) return super.prepare(connection);
    Object.assign(this._result, known);
    this._accumulateRows = true;
    const { describe } = connection;
    connection.describe = nothing;
    try {
      super.prepare(connection);
    } finally {
      connection.describe = describe;
    }
  }
}

const nothing = (): void => undefined;

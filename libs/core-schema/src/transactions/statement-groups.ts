/** What a client of `pg` has, and does not declare. */
interface Client {
  readonly connection: Connection;
  /** Whose results come next. */
  _activeQuery: Statement | null;
  /** The ones after it. */
  readonly _sentQueryQueue: Statement[];
  /** As of the last ReadyForQuery; `T`: in a transaction. */
  readonly _txStatus: string | null;
  _handleCommandComplete(message: unknown): void;
  _handleErrorMessage(message: unknown): void;
}

interface Connection {
  readonly submittedNamedStatements: Record<string, unknown>;
  bind(message: unknown): void;
  sync(): void;
}

interface Statement {
  readonly name?: string;
  readonly text?: string;
  group?: Group;
  handleReadyForQuery(connection: Connection): void;
  handleError(error: unknown, connection: Connection): void;
}

/** Statements that end with one Sync. */
interface Group {
  last: Statement;
}

export const startTransaction = 'START TRANSACTION';

/**
 * Statements of the extended protocol that end with one Sync instead of one each: PostgreSQL then sends their results in one
 * piece. After an error it skips the others of the group (PostgreSQL, 54.2.4, pipelining). `pg` expects a ReadyForQuery for
 * each statement; here only the last one of a group gets it.
 *
 * Only within transactions: outside of them a group would be one.
 */
export class StatementGroups {
  private readonly client: Client;
  private open: Group | undefined;

  constructor(client: object) {
    this.client = client as Client;
    const { _handleCommandComplete: complete, _handleErrorMessage: fail } = this.client;
    this.client._handleCommandComplete = (message) => {
      const statement = this.client._activeQuery;
      complete.call(client, message);
      if (statement !== null) this.completed(statement);
    };
    this.client._handleErrorMessage = (message) => {
      const statement = this.client._activeQuery;
      fail.call(client, message);
      if (statement?.group !== undefined) this.failed(statement.group, statement, message);
    };
  }

  /**
   * @param send sends one statement, with parameters or prepared
   * @param isStart whether it starts a transaction
   */
  add<T>(send: () => T, isStart = false): T {
    const { connection, _txStatus: status } = this.client;
    if (this.open === undefined && !isStart && status !== 'T') return send();
    const { bind, sync } = connection;
    let [isBound, isSent] = [false, false];
    connection.bind = (message) => {
      bind.call(connection, message);
      isBound = true;
    };
    connection.sync = () => (isSent = true);
    try {
      return send();
    } finally {
      Object.assign(connection, { bind, sync });
      if (isSent) this.join();
      // A parameter could not be converted: there will be no result, only the ReadyForQuery.
      if (isSent && !isBound) this.end();
    }
  }

  /** Nothing follows in this group. */
  end(): void {
    if (this.open === undefined) return;
    this.open = undefined;
    this.client.connection.sync();
  }

  private join(): void {
    const { _sentQueryQueue: sent, _activeQuery: active } = this.client;
    const statement = sent.at(-1) ?? active;
    if (statement === null) return;
    this.open ??= { last: statement };
    this.open.last = statement;
    statement.group = this.open;
  }

  private completed(statement: Statement): void {
    const { group } = statement;
    if (group === undefined || group.last === statement) return;
    this.client._activeQuery = this.client._sentQueryQueue.shift() ?? null;
    statement.handleReadyForQuery(this.client.connection);
  }

  /** Those after the failed one were skipped. The start of a transaction is awaited by nothing else. */
  private failed(group: Group, failed: Statement, error: unknown): void {
    const { _sentQueryQueue: sent, connection } = this.client;
    while (sent[0]?.group === group) {
      const skipped = sent.shift() as Statement;
      if (skipped.name !== undefined) delete connection.submittedNamedStatements[skipped.name];
      skipped.handleError(failed.text === startTransaction ? error : consequence(), connection);
    }
  }
}

/** As of a statement of its own after the failed one. */
const consequence = (): Error =>
  Object.assign(
    new Error('current transaction is aborted, commands ignored until end of transaction block'),
    {
      code: '25P02',
    },
  );

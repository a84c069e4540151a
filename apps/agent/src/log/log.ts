/** Events with fields, one per line: `event; key=value`. Never secrets. */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** For journald: the priority in front (sd-daemon(3)), and no time, which journald adds. */
export class LineLog implements Log {
  constructor(
    private readonly write: (line: string) => void,
    private readonly hasPriority: boolean,
  ) {}

  info(event: string, fields: LogFields = {}): void {
    this.line(6, event, fields);
  }

  warn(event: string, fields: LogFields = {}): void {
    this.line(4, event, fields);
  }

  private line(priority: number, event: string, fields: LogFields): void {
    const parts = Object.entries(fields).flatMap(([key, value]) =>
      value === null || value === undefined ? [] : [`${key}=${quoted(String(value))}`],
    );
    const prefix = this.hasPriority ? `<${priority}>` : '';
    this.write(`${prefix}${event}${parts.length === 0 ? '' : `; ${parts.join(' ')}`}\n`);
  }
}

/** Names of orders and texts of servers can contain anything. */
const quoted = (text: string): string => (/^[\w.:/@+*-]+$/.test(text) ? text : JSON.stringify(text));

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

/** One JSON object per line: time, level, msg, and the fields of the event. */
export class JsonLog {
  constructor(
    private readonly level: LogLevel,
    private readonly write: (line: string) => void,
  ) {}

  error(msg: string, fields?: Fields): void {
    this.#log('error', msg, fields);
  }

  warn(msg: string, fields?: Fields): void {
    this.#log('warn', msg, fields);
  }

  info(msg: string, fields?: Fields): void {
    this.#log('info', msg, fields);
  }

  debug(msg: string, fields?: Fields): void {
    this.#log('debug', msg, fields);
  }

  isOn(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(this.level);
  }

  #log(level: LogLevel, msg: string, fields: Fields = {}): void {
    if (this.isOn(level))
      this.write(JSON.stringify({ time: new Date().toISOString(), level, msg, ...fields }) + '\n');
  }
}

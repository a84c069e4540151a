import { ProviderFault } from '../provider-fault';

/**
 * A value of foreign JSON, read member by member. A missing member, or one of another type than documented, throws a
 * `ProviderFault` `unavailable` that names the path and never the value.
 */
export class Json {
  constructor(
    private readonly value: unknown,
    private readonly provider: string,
    private readonly place = 'the answer',
  ) {}

  /** Absent and null are errors. */
  member(name: string): Json {
    return this.optional(name) ?? this.wrong(`has no ${name}`);
  }

  /** Absent and null become null. */
  optional(name: string): Json | null {
    if (!isObject(this.value)) return this.wrong('is no object');
    const value = Object.hasOwn(this.value, name) ? this.value[name] : null;
    const place = this.place === 'the answer' ? name : `${this.place}.${name}`;
    return value === null || value === undefined ? null : new Json(value, this.provider, place);
  }

  array(): readonly Json[] {
    if (!Array.isArray(this.value)) return this.wrong('is no array');
    return this.value.map((value, at) => new Json(value, this.provider, `${this.place}[${at}]`));
  }

  string(): string {
    return typeof this.value === 'string' ? this.value : this.wrong('is no string');
  }

  /** Finite. */
  number(): number {
    return typeof this.value === 'number' && Number.isFinite(this.value)
      ? this.value
      : this.wrong('is no number');
  }

  boolean(): boolean {
    return typeof this.value === 'boolean' ? this.value : this.wrong('is neither true nor false');
  }

  /** The text of an identifier, which may be a number or a string. */
  id(): string {
    const text = typeof this.value === 'number' ? String(this.number()) : this.string();
    return text === '' ? this.wrong('is empty') : text;
  }

  /** Unchanged, to be sent back without interpretation. */
  raw(): unknown {
    return this.value;
  }

  isObject(): boolean {
    return isObject(this.value);
  }

  isArray(): boolean {
    return Array.isArray(this.value);
  }

  private wrong(how: string): never {
    throw new ProviderFault(
      'unavailable',
      `${this.provider} did not respond as documented: ${this.place} ${how}.`,
    );
  }
}

/** For refusals, which are read as far as possible: null when `read` fails. */
export function ifDocumented<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProviderFault) return null;
    throw error;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

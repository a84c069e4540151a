import type { TomlArray, TomlNode, TomlTable } from './toml-tree';

/** One error of the configuration. */
export interface ConfigurationFault {
  readonly file: string;
  readonly line: number;
  /** Such as `install[1].mode`; empty for the file itself. */
  readonly key: string;
  /** What is wrong and what to do. */
  readonly message: string;
}

export const faultText = ({ file, line, key, message }: ConfigurationFault): string =>
  `${file}:${line}: ${key === '' ? '' : `${key}: `}${message}`;

/** Collects the errors of all files, so that one run of `check` reports all of them. */
export class Faults {
  readonly list: ConfigurationFault[] = [];

  add(file: string, line: number, key: string, message: string): void {
    this.list.push({ file, line, key, message });
  }
}

/** Where a value is, for errors that are found later. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly key: string;
}

/** Reads the members of one table; what is not read is an error. A member that is missing or wrong reads as undefined. */
export class TableReader {
  private readonly known = new Set<string>();

  constructor(
    private readonly file: string,
    readonly table: TomlTable,
    private readonly path: string,
    private readonly faults: Faults,
  ) {}

  has(name: string): boolean {
    return this.table.members.has(name);
  }

  place(name?: string): Place {
    const line = (name === undefined ? undefined : this.table.members.get(name)?.line) ?? this.table.line;
    return { file: this.file, line, key: name === undefined ? this.path : this.keyOf(name) };
  }

  fault(name: string, message: string): void {
    const { file, line, key } = this.place(name);
    this.faults.add(file, line, key, message);
  }

  /** @param read returns the value, or throws a RangeError with what is wrong and what to do */
  string<T = string>(name: string, read: (text: string) => T = (text) => text as T): T | undefined {
    const node = this.take(name);
    if (node === undefined) return undefined;
    if (node.kind !== 'scalar' || typeof node.value !== 'string') {
      this.fault(name, 'is not a string; write it in quotes');
      return undefined;
    }
    return this.attempt(name, node.value, read);
  }

  required<T = string>(name: string, read?: (text: string) => T): T | undefined {
    if (!this.has(name)) {
      this.known.add(name);
      this.fault(name, 'is missing; add it');
      return undefined;
    }
    return this.string(name, read);
  }

  number(name: string, allowed: readonly number[]): number | undefined {
    const node = this.take(name);
    if (node === undefined) return undefined;
    if (node.kind === 'scalar' && typeof node.value === 'number' && allowed.includes(node.value))
      return node.value;
    this.fault(name, `is not one of ${allowed.join(', ')}; write one of them, without quotes`);
    return undefined;
  }

  /** A list of strings that are not empty. */
  strings<T = string>(name: string, read: (text: string) => T = (text) => text as T): T[] | undefined {
    const node = this.take(name);
    if (node === undefined) return undefined;
    if (node.kind !== 'array' || node.items.length === 0) {
      this.fault(name, 'is not a list of strings; write it as ["…", "…"]');
      return undefined;
    }
    const values: T[] = [];
    for (const [index, item] of node.items.entries()) {
      const value =
        item.kind === 'scalar' && typeof item.value === 'string' && item.value !== ''
          ? item.value
          : undefined;
      if (value === undefined) {
        this.faults.add(
          this.file,
          item.line,
          `${this.keyOf(name)}[${index + 1}]`,
          'is not a string; write it in quotes',
        );
        continue;
      }
      const result = this.attempt(`${name}[${index + 1}]`, value, read, item.line);
      if (result !== undefined) values.push(result);
    }
    return values;
  }

  inner(name: string): TableReader | undefined {
    const node = this.take(name);
    if (node === undefined) return undefined;
    if (node.kind === 'table') return new TableReader(this.file, node, this.keyOf(name), this.faults);
    this.fault(name, `is not a table; write [${this.keyOf(name)}]`);
    return undefined;
  }

  /** The tables of an array of tables, as `[[install]]` or as a list of inline tables. */
  innerList(name: string): TableReader[] {
    const node = this.take(name);
    if (node === undefined) return [];
    if (node.kind !== 'array' || !isListOfTables(node)) {
      this.fault(name, `is not a list of tables; write [[${this.keyOf(name)}]] or [{ … }]`);
      return [];
    }
    return node.items.map(
      (item, index) =>
        new TableReader(this.file, item as TomlTable, `${this.keyOf(name)}[${index + 1}]`, this.faults),
    );
  }

  /** Each member is a table with a name that the operator chose. */
  *innerTables(): Iterable<readonly [string, TableReader]> {
    for (const name of this.table.members.keys()) {
      const inner = this.inner(name);
      if (inner !== undefined) yield [name, inner];
    }
  }

  /** Reports members that were not read. */
  end(): void {
    const known = [...this.known].sort().join(', ');
    for (const name of this.table.members.keys())
      if (!this.known.has(name)) this.fault(name, `is not known here; remove it, or use one of: ${known}`);
  }

  private take(name: string): TomlNode | undefined {
    this.known.add(name);
    return this.table.members.get(name);
  }

  private attempt<T>(name: string, value: string, read: (text: string) => T, line?: number): T | undefined {
    try {
      return read(value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const { file, line: own } = this.place(name);
      this.faults.add(file, line ?? own, this.keyOf(name), error.message);
      return undefined;
    }
  }

  private keyOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }
}

const isListOfTables = ({ items }: TomlArray): boolean =>
  items.length > 0 && items.every(({ kind }) => kind === 'table');

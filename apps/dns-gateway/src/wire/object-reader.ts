import { type FieldFault, Problem } from '@certwright/errors';

/** Longest member name that is repeated to who sent it. */
const longestEcho = 64;

/** Bounded, as a body of 64 KiB has room for thousands. */
const mostFaults = 20;

/**
 * Reads one JSON object, strictly: every member is asked for by name, and what nobody asked for is a fault. Faults are
 * collected, so that a caller hears of all of them at once; what the readers return means something only after `done`.
 */
export class ObjectReader {
  readonly #members: ReadonlyMap<string, unknown>;
  readonly #asked = new Set<string>();
  readonly #faults: FieldFault[];

  /**
   * @param path in front of the members' names, `record.`
   * @throws Problem `bad_request` when it is no object
   */
  constructor(
    value: unknown,
    private readonly path = '',
    faults: FieldFault[] = [],
  ) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw path === ''
        ? new Problem('bad_request', 'The body must be a JSON object.')
        : Problem.ofFields([
            {
              field: path.slice(0, -1),
              code: value === undefined ? 'missing_field' : 'invalid_value',
              message: 'Must be a JSON object.',
            },
          ]);
    }
    this.#members = new Map(Object.entries(value));
    this.#faults = faults;
  }

  /** @param expected completes "Must be …" */
  text(name: string, expected: string, holds: (text: string) => boolean = () => true): string {
    const value = this.#ask(name);
    if (typeof value === 'string' && holds(value)) return value;
    this.fault(name, value === undefined ? 'missing_field' : 'invalid_value', `Must be ${expected}.`);
    return '';
  }

  oneOf<V extends string>(name: string, values: readonly [V, ...V[]]): V {
    const value = this.#ask(name);
    const known = values.find((each) => each === value);
    if (known !== undefined) return known;
    this.fault(
      name,
      value === undefined ? 'missing_field' : 'invalid_value',
      `Must be one of ${values.join(', ')}.`,
    );
    return values[0];
  }

  optionalInteger(name: string): number | undefined {
    const value = this.#ask(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
    this.fault(name, 'invalid_value', 'Must be a whole number.');
    return undefined;
  }

  optionalBoolean(name: string): boolean | undefined {
    const value = this.#ask(name);
    if (value === undefined || typeof value === 'boolean') return value;
    this.fault(name, 'invalid_value', 'Must be true or false.');
    return undefined;
  }

  /** Its faults are told together with those of this one. */
  object(name: string): ObjectReader {
    return new ObjectReader(this.#ask(name), `${this.path}${name}.`, this.#faults);
  }

  value(name: string): unknown {
    return this.#ask(name);
  }

  names(): readonly string[] {
    return [...this.#members.keys()];
  }

  fault(name: string, code: FieldFault['code'], message: string): void {
    this.#faults.push({ field: `${this.path}${shortened(name)}`, code, message });
  }

  /** Of an object inside another: its own members have been asked for. */
  doneInside(): void {
    for (const name of this.#members.keys()) {
      if (!this.#asked.has(name)) this.fault(name, 'invalid_value', 'There is no such member.');
    }
  }

  /** @throws Problem `bad_request` with every fault so far, those of members that nobody asked for included */
  done(): void {
    this.doneInside();
    if (this.#faults.length > 0) throw Problem.ofFields(this.#faults.slice(0, mostFaults));
  }

  #ask(name: string): unknown {
    this.#asked.add(name);
    return this.#members.get(name);
  }
}

const shortened = (name: string): string =>
  name.length <= longestEcho ? name : `${[...name].slice(0, longestEcho).join('')}…`;
